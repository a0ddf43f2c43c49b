#pragma once

#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace loupe::bench {

namespace nn = torch::nn;

/// One layer of a GPT, built from LibTorch's modules.
struct GptBlockImpl : nn::Module {
  GptBlockImpl(int64_t width, int64_t heads)
      : norm1(nn::LayerNormOptions({width})),
        attention(nn::MultiheadAttentionOptions(width, heads)),
        norm2(nn::LayerNormOptions({width})),
        up(width, 4 * width),
        down(4 * width, width) {
    register_module("norm1", norm1);
    register_module("attention", attention);
    register_module("norm2", norm2);
    register_module("up", up);
    register_module("gelu", gelu);
    register_module("down", down);
  }
  torch::Tensor forward(torch::Tensor x, const torch::Tensor& mask) {
    const auto y = norm1(x);
    x = x + std::get<0>(attention(y, y, y, torch::Tensor(), /*need_weights=*/false, mask));
    return x + down(gelu(up(norm2(x))));
  }
  nn::LayerNorm norm1;
  nn::MultiheadAttention attention;
  nn::LayerNorm norm2;
  nn::Linear up;
  nn::GELU gelu;
  nn::Linear down;
};
TORCH_MODULE(GptBlock);

/// Takes tokens [context, batch], returns scores [context * batch, vocabulary].
struct GptImpl : nn::Module {
  GptImpl(int64_t layers, int64_t width, int64_t heads, int64_t context, int64_t vocabulary)
      : tokens(vocabulary, width),
        places(context, width),
        norm(nn::LayerNormOptions({width})),
        head(width, vocabulary),
        mask(torch::full({context, context}, -INFINITY).triu(1)),
        positions(torch::arange(context)) {
    register_module("tokens", tokens);
    register_module("places", places);
    for (int64_t i = 0; i < layers; ++i)
      blocks.push_back(register_module("block" + std::to_string(i), GptBlock(width, heads)));
    register_module("norm", norm);
    register_module("head", head);
  }
  torch::Tensor forward(const torch::Tensor& input) {
    auto x = tokens(input) + places(positions).unsqueeze(1);
    for (GptBlock& block : blocks) x = block(x, mask);
    return head(norm(x)).flatten(0, 1);
  }
  nn::Embedding tokens, places;
  std::vector<GptBlock> blocks;
  nn::LayerNorm norm;
  nn::Linear head;
  torch::Tensor mask, positions;
};
TORCH_MODULE(Gpt);

/// A cell that runs once per time step: takes [steps, batch, width].
struct CellLoopImpl : nn::Module {
  CellLoopImpl(int64_t width, int64_t hidden) : cell(width, hidden), head(hidden, 10) {
    register_module("cell", cell);
    register_module("head", head);
  }
  torch::Tensor forward(const torch::Tensor& input) {
    std::tuple<torch::Tensor, torch::Tensor> state = cell(input[0]);
    for (int64_t step = 1; step < input.size(0); ++step) state = cell(input[step], state);
    return head(std::get<0>(state));
  }
  nn::LSTMCell cell;
  nn::Linear head;
};
TORCH_MODULE(CellLoop);

/// A model with its forward function, and one fixed batch.
struct Subject {
  std::shared_ptr<nn::Module> module;
  std::function<torch::Tensor(const torch::Tensor&)> forward;
  torch::Tensor input, target;
  double activations = 0;                     ///< the number of output elements of all ReLU layers in one step
  std::string parameters = "[weight, bias]";  ///< the parameters that gradient and difference lenses watch
};

/// ResNet's basic block: two 3x3 convolutions beside the identity, or beside a 1x1 convolution if the shape changes.
struct BasicBlockImpl : nn::Module {
  BasicBlockImpl(int64_t in, int64_t out, int64_t stride)
      : conv1(nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false)),
        bn1(out),
        conv2(nn::Conv2dOptions(out, out, 3).padding(1).bias(false)),
        bn2(out) {
    register_module("conv1", conv1);
    register_module("bn1", bn1);
    register_module("relu1", relu1);
    register_module("conv2", conv2);
    register_module("bn2", bn2);
    register_module("relu2", relu2);
    if (stride != 1 || in != out) {
      shortcut = register_module(
          "shortcut",
          nn::Sequential(nn::Conv2d(nn::Conv2dOptions(in, out, 1).stride(stride).bias(false)), nn::BatchNorm2d(out)));
    }
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto y = bn2(conv2(relu1(bn1(conv1(x)))));
    return relu2(y + (shortcut.is_empty() ? x : shortcut->forward(x)));
  }
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::ReLU relu1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::ReLU relu2;
  nn::Sequential shortcut{nullptr};
};
TORCH_MODULE(BasicBlock);

inline nn::Sequential resnet18() {
  nn::Sequential model(nn::Conv2d(nn::Conv2dOptions(3, 64, 3).padding(1).bias(false)), nn::BatchNorm2d(64), nn::ReLU());
  int64_t in = 64;
  for (const auto& [out, stride] : std::vector<std::pair<int64_t, int64_t>>{
           {64, 1}, {64, 1}, {128, 2}, {128, 1}, {256, 2}, {256, 1}, {512, 2}, {512, 1}}) {
    model->push_back(BasicBlock(std::exchange(in, out), out, stride));
  }
  model->push_back(nn::AdaptiveAvgPool2d(1));
  model->push_back(nn::Flatten());
  model->push_back(nn::Linear(512, 10));
  return model;
}

/// Returns `count` layers of 64 units with a ReLU each.
inline nn::Sequential small_layers(int count) {
  nn::Sequential model;
  for (int i = 0; i < count; ++i) {
    model->push_back(nn::Linear(64, 64));
    model->push_back(nn::ReLU());
  }
  return model;
}

/// Model E: a GPT of 12 layers. Model F: a cell in a loop of 200 steps.
inline Subject make_large_subject(const std::string& name) {
  Subject subject;
  if (name == "E") {
    constexpr int64_t context = 128, batch = 8, vocabulary = 256, width = 256, layers = 12;
    Gpt model(layers, width, 4, context, vocabulary);
    subject.module = model.ptr();
    subject.forward = [model](const torch::Tensor& x) mutable { return model->forward(x); };
    subject.input = torch::randint(0, vocabulary, {context, batch});
    subject.target = torch::randint(0, 10, {context * batch});
    subject.activations = static_cast<double>(layers * context * batch * 4 * width);
  } else {
    CellLoop model(32, 64);
    subject.module = model.ptr();
    subject.forward = [model](const torch::Tensor& x) mutable { return model->forward(x); };
    subject.input = torch::randn({200, 32, 32});
    subject.target = torch::randint(0, 10, {32});
  }
  return subject;
}

/// Model A: a perceptron. B: a small convolutional network. C: ResNet-18 for 32x32 images. D: fifty small layers. G:
/// five hundred small layers. E, F: see make_large_subject.
inline Subject make_subject(const std::string& name) {
  torch::manual_seed(1);
  if (name == "E" || name == "F") return make_large_subject(name);
  nn::Sequential model;
  torch::Tensor input;
  if (name == "A") {
    model = nn::Sequential(nn::Linear(784, 512), nn::ReLU(), nn::Linear(512, 256), nn::ReLU(), nn::Linear(256, 10));
    input = torch::randn({128, 784});
  } else if (name == "B") {
    model = nn::Sequential(nn::Conv2d(1, 32, 3), nn::ReLU(), nn::Conv2d(32, 64, 3), nn::ReLU(), nn::MaxPool2d(2),
                           nn::Flatten(), nn::Linear(64 * 12 * 12, 128), nn::ReLU(), nn::Linear(128, 10));
    input = torch::randn({64, 1, 28, 28});
  } else if (name == "C") {
    model = resnet18();
    input = torch::randn({32, 3, 32, 32});
  } else if (name == "D" || name == "G") {
    model = small_layers(name == "D" ? 50 : 500);
    input = torch::randn({32, 64});
  } else {
    throw std::invalid_argument("there is no model '" + name + "'; A to G are known");
  }
  Subject subject;
  subject.module = model.ptr();
  subject.forward = [model](const torch::Tensor& x) mutable { return model->forward(x); };
  subject.input = input;
  subject.target = torch::randint(0, 10, {input.size(0)});
  // The counts are computed by hand, so that the floor does not depend on the measured model.
  const std::map<std::string, double> activations = {
      {"A", 128.0 * (512 + 256)},
      {"B", 64.0 * (32 * 26 * 26 + 64 * 24 * 24 + 128)},
      {"C", 32.0 * (5 * 64 * 32 * 32 + 4 * 128 * 16 * 16 + 4 * 256 * 8 * 8 + 4 * 512 * 4 * 4)},
      {"D", 50.0 * 32 * 64},
      {"G", 500.0 * 32 * 64}};
  subject.activations = activations.at(name);
  if (name == "C") subject.parameters = "[weight]";
  return subject;
}

/// One step of the usual loop. @return its loss
inline torch::Tensor train_step(Subject& subject, torch::optim::Optimizer& optimizer) {
  optimizer.zero_grad();
  const torch::Tensor loss =
      nn::functional::cross_entropy(subject.forward(subject.input).slice(1, 0, 10), subject.target);
  loss.backward();
  optimizer.step();
  return loss;
}

}  // namespace loupe::bench
