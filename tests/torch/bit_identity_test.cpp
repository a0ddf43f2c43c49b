// Training with Loupe ends with the same bits as without it: six optimizers, three models, twelve configurations.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nn = torch::nn;

namespace {

struct RecurrentImpl : nn::Module {
  nn::Embedding words = register_module("words", nn::Embedding(11, 6));
  nn::LSTM lstm = register_module("lstm", nn::LSTM(nn::LSTMOptions(6, 8).batch_first(true)));
  nn::TransformerEncoderLayer mixer = register_module(
      "mixer", nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(12).dropout(0.1)));
  nn::Linear head = register_module("head", nn::Linear(8, 3));

  torch::Tensor forward(const torch::Tensor& input) {
    const torch::Tensor tokens = input.abs().mul(4).to(torch::kLong).clamp(0, 10);
    return head(mixer(std::get<0>(lstm(words(tokens))).transpose(0, 1)).mean(0));
  }
};
TORCH_MODULE(Recurrent);

struct Trainee {
  std::shared_ptr<nn::Module> module;
  std::function<torch::Tensor(const torch::Tensor&)> forward;
};
template <class Model>
Trainee trainee(Model model) {
  return {model.ptr(), [model](const torch::Tensor& input) mutable { return model->forward(input); }};
}

const std::vector<std::pair<const char*, std::function<Trainee()>>> models = {
    {"dropout",
     [] { return trainee(nn::Sequential(nn::Linear(16, 12), nn::ReLU(), nn::Dropout(0.2), nn::Linear(12, 3))); }},
    {"convolution",
     [] {
       return trainee(nn::Sequential(nn::Unflatten(nn::UnflattenOptions(1, {1, 4, 4})),
                                     nn::Conv2d(nn::Conv2dOptions(1, 4, 3).padding(1)), nn::BatchNorm2d(4),
                                     nn::ReLU(nn::ReLUOptions().inplace(true)), nn::Flatten(), nn::Linear(64, 3)));
     }},
    {"recurrent", [] { return trainee(Recurrent()); }},
};

template <class Optimizer, class Options>
std::unique_ptr<torch::optim::Optimizer> make(std::vector<torch::Tensor> parameters, Options options) {
  return std::make_unique<Optimizer>(std::move(parameters), options);
}
using MakeOptimizer = std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::Tensor>)>;
const std::vector<std::pair<const char*, MakeOptimizer>> optimizers = {
    {"SGD", [](auto all) { return make<torch::optim::SGD>(all, torch::optim::SGDOptions(0.05).momentum(0.9)); }},
    {"Adam", [](auto all) { return make<torch::optim::Adam>(all, torch::optim::AdamOptions(0.01).amsgrad(true)); }},
    {"AdamW", [](auto all) { return make<torch::optim::AdamW>(all, torch::optim::AdamWOptions(0.01)); }},
    {"RMSprop", [](auto all) { return make<torch::optim::RMSprop>(all, torch::optim::RMSpropOptions(0.01)); }},
    {"Adagrad", [](auto all) { return make<torch::optim::Adagrad>(all, torch::optim::AdagradOptions(0.05)); }},
    {"LBFGS", [](auto all) { return make<torch::optim::LBFGS>(all, torch::optim::LBFGSOptions(0.1).max_iter(4)); }},
};

const char* const every_lens =
    "[health, loss_metrics, output_activation, output_norm, output_gradient_geometry, gradient_geometry, "
    "parameter_gradient_activation, parameter_norm, parameter_difference, update_ratio, run_statistics, histograms, "
    "parameter_condition: {parameters: [weight]}]";
const std::vector<std::string> configurations = {
    "lenses: [output_activation, gradient_geometry, loss_metrics, parameter_difference]\n",
    "lenses: [health]\n",
    std::string("lenses: ") + every_lens + "\n",
    std::string("attach: {taps: explicit}\nlenses: ") + every_lens + "\n",
    std::string("attach: {depth: 1, separator: /}\nlenses: ") + every_lens + "\n",
    std::string("attach: {active: 2}\nlenses: ") + every_lens + "\n",
    std::string("run: {tick: {steps: 2}}\nlenses: ") + every_lens + "\n",
    std::string("attach: {budget: 1%}\nlenses: ") + every_lens + "\n",
    "attach: {every: 2}\nlenses: [output_norm, parameter_difference, gradient_geometry: {inplace: false}]\n",
    "run: {dir: DIRECTORY}\nlenses: [recorder: {what: forward_output}, histograms]\n",
    std::string("run: {dir: DIRECTORY}\nvisualizers: [record, html, csv, tensorboard, prometheus]\nlenses: ") +
        every_lens + "\n",
    "lenses: [difference_monitor: {attribute: running_mean}, parameter_norm, learning_rate]\n",
};

/// Everything that training leaves behind, as bytes: losses, parameters, buffers, and the generator's next numbers.
std::vector<std::string> train(const std::function<Trainee()>& make_model, const MakeOptimizer& make_optimizer,
                               loupe::Inspector* inspector) {
  torch::manual_seed(3);
  const Trainee model = make_model();
  const auto optimizer = make_optimizer(model.module->parameters());
  std::vector<std::string> left;
  const auto keep = [&](const torch::Tensor& tensor) {
    const torch::Tensor whole = tensor.detach().contiguous();
    left.emplace_back(static_cast<const char*>(whole.data_ptr()), whole.nbytes());
  };
  if (inspector != nullptr) inspector->attach(*model.module, *optimizer);
  for (int epoch = 0; epoch < 2; ++epoch) {
    model.module->train();
    for (int step = 0; step < 3; ++step) {
      const torch::Tensor input = torch::randn({5, 16}), target = torch::randint(3, {5});
      const auto closure = [&] {
        optimizer->zero_grad();
        const torch::Tensor loss = nn::functional::cross_entropy(model.forward(input), target);
        loss.backward();
        return loss;
      };
      const torch::Tensor loss = optimizer->step(closure);
      if (inspector != nullptr) inspector->push_loss(loss, true);
      keep(loss);
    }
    model.module->eval();
    const torch::NoGradGuard guard;
    keep(model.forward(torch::ones({4, 16})));
    if (inspector != nullptr) inspector->tick_epoch();
  }
  for (const torch::Tensor& each : model.module->parameters()) keep(each);
  for (const torch::Tensor& each : model.module->buffers()) keep(each);
  keep(torch::rand({4}));
  return left;
}

class BitIdentity : public ::testing::TestWithParam<std::size_t> {};

TEST_P(BitIdentity, HoldsForEveryOptimizerAndConfiguration) {
  const auto& [model_name, make_model] = models[GetParam()];
  const auto directory = std::filesystem::temp_directory_path() / ("loupe-bits-" + std::to_string(::getpid()));
  for (const auto& [optimizer_name, make_optimizer] : optimizers) {
    const auto wanted = train(make_model, make_optimizer, nullptr);
    for (std::string yaml : configurations) {
      if (const auto at = yaml.find("DIRECTORY"); at != std::string::npos) yaml.replace(at, 9, directory.string());
      auto inspector = loupe::Inspector::from_text(yaml);
      EXPECT_TRUE(train(make_model, make_optimizer, &inspector) == wanted)
          << model_name << ' ' << optimizer_name << '\n'
          << yaml;
    }
  }
  std::filesystem::remove_all(directory);
}

INSTANTIATE_TEST_SUITE_P(OfModels, BitIdentity, ::testing::Range(std::size_t{0}, models.size()),
                         [](const auto& info) { return std::string(models[info.param].first); });

}  // namespace
