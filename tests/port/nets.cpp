#include "port/nets.h"

#include <loupe/inspector.h>

#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

namespace loupe::test {
namespace {

namespace nn = torch::nn;

struct Mlp : Net {
  explicit Mlp(const std::string& fault)
      : without_act(fault == "no activation"),
        with_function(fault == "activation as a function"),
        with_norm(fault == "another norm"),
        renamed(fault == "other names") {
    fc1 = register_module(renamed ? "input" : "fc1", nn::Linear(12, 16));
    if (with_norm) norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({16})));
    if (fault == "another activation") {
      other_act = register_module("act", nn::ReLU());
    } else if (!without_act && !with_function) {
      act = register_module(renamed ? "squash" : "act", nn::Tanh());
    }
    drop = register_module("drop", nn::Dropout(0.5));
    fc2 = register_module(renamed ? "output" : "fc2", nn::Linear(16, 4));
  }
  at::Tensor forward(at::Tensor x) override {
    x = fc1->forward(x);
    if (with_norm) x = norm->forward(x);
    if (other_act) x = other_act->forward(x);
    if (act) x = act->forward(x);
    if (with_function) x = torch::tanh(x);
    return fc2->forward(drop->forward(x));
  }
  bool without_act, with_function, with_norm, renamed;
  nn::Linear fc1{nullptr}, fc2{nullptr};
  nn::Tanh act{nullptr};
  nn::ReLU other_act{nullptr};
  nn::Dropout drop{nullptr};
  nn::LayerNorm norm{nullptr};
};

struct Cnn : Net {
  explicit Cnn(const std::string& fault)
      : no_flatten(fault == "flatten order"), with_function(fault == "activation as a function") {
    nn::BatchNormOptions norm(4);
    if (fault == "batch norm eps") norm.eps(1e-3);
    if (fault == "batch norm momentum") norm.momentum(0.01);
    conv1 = register_module("conv1", nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding(1)));
    bn1 = register_module("bn1", nn::BatchNorm2d(norm));
    if (!with_function) act = register_module("act", nn::ReLU(nn::ReLUOptions(/*inplace=*/true)));
    pool = register_module("pool", nn::MaxPool2d(2));
    up = register_module("up", nn::Upsample(nn::UpsampleOptions()
                                                .scale_factor(std::vector<double>{2, 2})
                                                .mode(torch::kBilinear)
                                                .align_corners(fault == "align_corners")));
    conv2 = register_module("conv2", nn::Conv2d(nn::Conv2dOptions(4, 4, 3).bias(false)));
    bn2 = register_module("bn2", nn::BatchNorm2d(4));
    flatten = register_module("flatten", nn::Flatten());
    fc = register_module("fc", nn::Linear(4 * 6 * 6, 4));
  }
  at::Tensor forward(at::Tensor x) override {
    x = bn1->forward(conv1->forward(x));
    x = pool->forward(with_function ? torch::relu(x) : act->forward(x));
    x = torch::relu(bn2->forward(conv2->forward(up->forward(x))));
    if (no_flatten) x = x.permute({0, 2, 3, 1}).contiguous();
    return fc->forward(flatten->forward(x));
  }
  bool no_flatten, with_function;
  nn::Conv2d conv1{nullptr}, conv2{nullptr};
  nn::BatchNorm2d bn1{nullptr}, bn2{nullptr};
  nn::ReLU act{nullptr};
  nn::MaxPool2d pool{nullptr};
  nn::Upsample up{nullptr};
  nn::Flatten flatten{nullptr};
  nn::Linear fc{nullptr};
};

struct BlockImpl : Net {
  explicit BlockImpl(const std::string& fault) : without_skip(fault == "no skip") {
    fc1 = register_module("fc1", nn::Linear(12, 12));
    act = register_module("act", nn::GELU(nn::GELUOptions().approximate(fault == "another GELU" ? "tanh" : "none")));
    fc2 = register_module("fc2", nn::Linear(12, 12));
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({12})));
  }
  at::Tensor forward(at::Tensor x) override {
    at::Tensor result = norm->forward(fc2->forward(act->forward(fc1->forward(x))));
    return without_skip ? result : x + result;
  }
  bool without_skip;
  nn::Linear fc1{nullptr}, fc2{nullptr};
  nn::GELU act{nullptr};
  nn::LayerNorm norm{nullptr};
};
TORCH_MODULE(Block);

struct Residual : Net {
  explicit Residual(const std::string& fault) {
    block = register_module("block", Block(fault));
    head = register_module("head", nn::Linear(12, 4));
  }
  at::Tensor forward(at::Tensor x) override { return head->forward(block->forward(x)); }
  Block block{nullptr};
  nn::Linear head{nullptr};
};

struct Recurrent : Net {
  Recurrent() {
    lstm = register_module("lstm", nn::LSTM(nn::LSTMOptions(5, 6).batch_first(true)));
    head = register_module("head", nn::Linear(6, 4));
  }
  at::Tensor forward(at::Tensor x) override { return head->forward(std::get<0>(lstm->forward(x)).select(1, -1)); }
  nn::LSTM lstm{nullptr};
  nn::Linear head{nullptr};
};

struct Transformer : Net {
  explicit Transformer(const std::string& fault) {
    embed = register_module("embed", nn::Linear(5, 8));
    const int64_t heads = fault == "attention heads" ? 4 : 2;
    const nn::TransformerEncoderLayer layer(
        nn::TransformerEncoderLayerOptions(8, heads).dim_feedforward(16).dropout(0));
    encoder = register_module("encoder", nn::TransformerEncoder(layer, 2));
    head = register_module("head", nn::Linear(8, 4));
  }
  at::Tensor forward(at::Tensor x) override { return head->forward(encoder->forward(embed->forward(x)).mean(0)); }
  nn::Linear embed{nullptr}, head{nullptr};
  nn::TransformerEncoder encoder{nullptr};
};

struct Tied : Net {
  explicit Tied(const std::string& fault) : is_tied(fault != "not tied") {
    embed = register_module("embed", nn::Linear(nn::LinearOptions(12, 12).bias(false)));
    act = register_module("act", nn::Tanh());
    head = register_module("head", nn::Linear(12, 12));
    if (is_tied) head->weight = embed->weight;  // the registered weight stays a parameter, but is unused
  }
  at::Tensor forward(at::Tensor x) override { return head->forward(act->forward(embed->forward(x))); }
  bool is_tied;
  nn::Linear embed{nullptr}, head{nullptr};
  nn::Tanh act{nullptr};
};

std::shared_ptr<Net> make_net(const std::string& model, const std::string& fault) {
  if (model == "mlp") return std::make_shared<Mlp>(fault);
  if (model == "cnn") return std::make_shared<Cnn>(fault);
  if (model == "residual") return std::make_shared<Residual>(fault);
  if (model == "lstm") return std::make_shared<Recurrent>();
  if (model == "tied") return std::make_shared<Tied>(fault);
  return std::make_shared<Transformer>(fault);
}

/// The same function as in pairs.py.
at::Tensor made(at::IntArrayRef shape, int64_t factor, int64_t offset, int64_t modulus) {
  const int64_t numel = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<float> values;
  for (int64_t i = 0; i < numel; ++i)
    values.push_back(
        static_cast<float>(static_cast<double>((i * factor + offset) % modulus) / static_cast<double>(modulus) - 0.5));
  return torch::tensor(values).reshape(shape);
}

void initialize(Net& net) {
  static const std::map<std::string, std::string> originals = {{"input.weight", "fc1.weight"},
                                                               {"input.bias", "fc1.bias"},
                                                               {"output.weight", "fc2.weight"},
                                                               {"output.bias", "fc2.bias"}};
  const torch::NoGradGuard no_grad;
  for (const auto& item : net.named_parameters()) {
    const auto known = originals.find(item.key());
    const std::string name = known != originals.end() ? known->second : item.key();
    at::Tensor parameter = item.value();
    const at::Tensor values =
        made(parameter.sizes(), 7919, std::accumulate(name.begin(), name.end(), int64_t{0}) * 101, 2003);
    if (parameter.dim() > 1) {
      const auto inputs = static_cast<double>(parameter.numel() / parameter.size(0));
      parameter.copy_(values * (2 / std::sqrt(inputs)));
    } else {
      const bool is_weight = name.size() >= 6 && name.compare(name.size() - 6, 6, "weight") == 0;
      parameter.copy_(values * 0.1 + (is_weight ? 1 : 0));
    }
  }
}

void change_weights(Net& net, const std::string& fault) {
  const torch::NoGradGuard no_grad;
  const auto parameters = net.named_parameters();
  if (fault == "transposed weight") parameters["block.fc1.weight"].copy_(parameters["block.fc1.weight"].t().clone());
  if (fault == "permuted gates") parameters["lstm.weight_ih_l0"].copy_(parameters["lstm.weight_ih_l0"].roll({6}, {0}));
  if (fault == "scaled weight") parameters["fc2.weight"].mul_(0.5);
  if (fault == "not tied") parameters["head.weight"].copy_(parameters["embed.weight"]);
  if (fault == "frozen") parameters["fc1.weight"].set_requires_grad(false);
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& type, const std::string& fault,
                                                        const std::vector<at::Tensor>& parameters) {
  using namespace torch::optim;
  if (fault == "coupled decay") return std::make_unique<Adam>(parameters, AdamOptions(0.01).weight_decay(0.1));
  if (fault == "default rate") return std::make_unique<Adam>(parameters);
  if (fault == "rmsprop alpha") return std::make_unique<RMSprop>(parameters, RMSpropOptions(0.01).alpha(0.9));
  if (fault == "no momentum") return std::make_unique<SGD>(parameters, SGDOptions(0.1));
  if (type == "sgd") return std::make_unique<SGD>(parameters, SGDOptions(0.1).momentum(0.9));
  if (type == "adam") return std::make_unique<Adam>(parameters, AdamOptions(0.01));
  if (type == "adamw") return std::make_unique<AdamW>(parameters, AdamWOptions(0.01).weight_decay(0.1));
  return std::make_unique<RMSprop>(parameters, RMSpropOptions(0.01));
}

/// Changes the gradients between a backward pass and the step, from the second step on.
void change_gradients(Net& net, const std::string& fault) {
  for (const at::Tensor& parameter : net.parameters()) {
    if (fault == "later halved gradients") parameter.mutable_grad() = parameter.grad() * 0.5;
    if (fault == "later random gradients") parameter.mutable_grad() = torch::randn_like(parameter) * 0.01;
    if (fault == "later rotated gradients" && parameter.dim() > 1)
      parameter.mutable_grad() = parameter.grad().roll({1}, {0});
  }
}

at::Tensor make_batch(const std::string& model, int64_t step, const std::string& fault) {
  static const std::map<std::string, std::vector<int64_t>> shapes = {{"mlp", {8, 12}},           {"cnn", {6, 3, 8, 8}},
                                                                     {"residual", {8, 12}},      {"lstm", {7, 9, 5}},
                                                                     {"transformer", {9, 7, 5}}, {"tied", {8, 12}}};
  if (fault == "batch order") step = (step + 1) % 3;
  const std::vector<int64_t>& shape = shapes.at(model);
  at::Tensor inputs = made(shape, 6151, step * 3571 + 7, 1009) * 2;
  if (fault == "shuffled samples") inputs = inputs.flip(0);
  if (fault == "BGR") inputs = inputs.flip(1);
  if (fault == "NHWC") inputs = inputs.permute({0, 2, 3, 1}).contiguous().view(shape);
  if (fault == "not normalized") inputs = inputs * 0.25 + 0.5;
  if (fault == "other data") inputs = made(shape, 4391, step, 1013) * 2;
  return inputs;
}

}  // namespace

void record_port(const std::string& model, const std::string& optimizer_type, const std::string& fault,
                 const std::filesystem::path& folder) {
  torch::manual_seed(1);
  const std::shared_ptr<Net> net = make_net(model, fault);
  if (fault != "another seed") initialize(*net);
  change_weights(*net, fault);
  const auto optimizer = make_optimizer(optimizer_type, fault, net->parameters());
  if (auto* mlp = dynamic_cast<Mlp*>(net.get()); mlp != nullptr && fault != "dropout left on") mlp->drop->eval();
  if (fault == "evaluation mode") net->eval();

  auto inspector =
      Inspector::from_text("loupe: 1\nrun: {dir: " + folder.string() + "}\nlenses: [{fingerprint: {steps: 3}}]\n");
  inspector.attach(*net, *optimizer);
  for (int64_t step = 0; step < 3; ++step) {
    const at::Tensor inputs = make_batch(model, step, fault);
    const at::Tensor targets = (torch::arange(inputs.size(model == "transformer" ? 1 : 0)) * 3 + step +
                                (fault == "other targets" || (fault == "later other targets" && step > 0) ? 1 : 0)) %
                               4;
    if (fault.rfind("gradients kept", 0) != 0) optimizer->zero_grad();
    if (fault == "later evaluation mode" && step > 0) net->eval();
    torch::nn::functional::CrossEntropyFuncOptions options;
    if (fault == "loss reduction" || fault == "untold loss reduction") options.reduction(torch::kSum);
    const at::Tensor loss = torch::nn::functional::cross_entropy(net->forward(inputs), targets, options);
    if (fault != "untold loss reduction") inspector.push_loss(loss, /*train=*/true);
    loss.backward();
    if (step > 0) change_gradients(*net, fault);
    if (fault == "gradients kept and clipped" && step > 0) torch::nn::utils::clip_grad_norm_(net->parameters(), 0.1);
    if (fault == "clipped gradients") torch::nn::utils::clip_grad_norm_(net->parameters(), 0.1);
    if (fault == "zero gradient") net->named_parameters()["head.bias"].mutable_grad().zero_();
    optimizer->step();
    const torch::NoGradGuard no_grad;
    for (const at::Tensor& parameter : net->parameters()) {
      if (fault == "weights changed") at::Tensor(parameter).mul_(0.998);
      if (fault == "weights rounded") at::Tensor(parameter).copy_(parameter.to(torch::kBFloat16).to(torch::kFloat));
    }
  }
}

}  // namespace loupe::test
