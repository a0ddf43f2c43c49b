#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

// Situations of real training, seen through the lenses that a configuration names.

namespace loupe {
namespace {

namespace nn = torch::nn;

Inspector watching(const std::string& lenses) {
  return Inspector::from_text("loupe: 1\nlenses:\n" + lenses);
}
double l2_norm(const at::Tensor& tensor) {
  return tensor.detach().to(torch::kDouble).norm().item<double>();
}
nn::Sequential one_linear() {
  torch::manual_seed(1);
  return nn::Sequential(nn::Linear(4, 3));
}

/// One linear layer, its optimizer, and the lenses that measure it.
struct OneLinear {
  explicit OneLinear(const std::string& lenses) : inspector(watching(lenses)) { inspector.attach(*model, optimizer); }
  /// Makes a step with the same gradient each time.
  void step() {
    optimizer.zero_grad();
    model->forward(torch::ones({5, 4})).sum().backward();
    optimizer.step();
  }
  double value(const std::string& tag, const std::string& line) const {
    return inspector.value(tag, "0", line).value_or(NAN);
  }

  nn::Sequential model = one_linear();
  torch::optim::SGD optimizer{model->parameters(), 0.1};
  const at::Tensor weight = model->named_parameters()["0.weight"];
  Inspector inspector;
};

TEST(Training, ShowsTheLastParametersOfAModelThatWasDestroyedBeforeTheTick) {
  Inspector inspector = watching("  - parameter_norm\n  - memory\n");
  double norm = 0;
  {
    nn::Sequential model = one_linear();
    torch::optim::SGD optimizer(model->parameters(), 0.1);
    inspector.attach(*model, optimizer);
    for (int step = 0; step < 2; ++step) {
      optimizer.zero_grad();
      model->forward(torch::ones({5, 4})).sum().backward();
      optimizer.step();
      if (step == 0) inspector.tick_epoch();
    }
    norm = l2_norm(model->named_parameters()["0.weight"]);
  }
  inspector.tick_epoch();
  EXPECT_NEAR(inspector.value("Weight Norm", "0", "mean").value_or(NAN), norm, 1e-6);
  EXPECT_GT(inspector.value("Memory", "", "parameters").value_or(0), 0);
}

TEST(Training, ShowsClippingInTheGradientOfTheStepAndNotInTheAccumulated) {
  OneLinear it(
      "  - {gradient_geometry: {line: [max, min, mean]}, as: accumulated}\n"
      "  - {gradient_geometry: {line: [max, min, mean], gradient: step}, as: step}\n");
  std::vector<double> sums;
  for (int part = 0; part < 2; ++part) {  // two micro-batches make a step
    it.model->forward(torch::randn({5, 4})).pow(2).sum().backward();
    sums.push_back(l2_norm(it.weight.grad()));
  }
  nn::utils::clip_grad_norm_(it.model->parameters(), 0.5);
  const double clipped = l2_norm(it.weight.grad());
  it.optimizer.step();
  it.inspector.tick_epoch();
  const auto shown = [&](const char* lens, const char* line) {
    return it.inspector.value(std::string("Weight Gradient Norm (") + lens + ")", "0", line).value_or(NAN);
  };
  EXPECT_NEAR(shown("accumulated", "max"), *std::max_element(sums.begin(), sums.end()), 1e-4);
  EXPECT_NEAR(shown("accumulated", "min"), *std::min_element(sums.begin(), sums.end()), 1e-4);
  EXPECT_LT(clipped, 0.51);
  EXPECT_NEAR(shown("step", "max"), clipped, 1e-6) << "one gradient per step, after clipping";
  EXPECT_NEAR(shown("step", "min"), clipped, 1e-6);
}

TEST(Training, ShowsTheStepsGradientUnclippedWhereTheTrainerClipsBetweenOtherSteps) {
  OneLinear it("  - gradient_geometry: {line: [max, min], gradient: step}\n");
  std::vector<double> seen;
  for (const bool clips : {false, true}) {
    it.optimizer.zero_grad();
    it.model->forward(torch::ones({5, 4})).pow(2).sum().backward();
    if (clips) nn::utils::clip_grad_norm_(it.model->parameters(), 0.1);
    seen.push_back(l2_norm(it.weight.grad()));
    it.optimizer.step();
  }
  it.inspector.tick_epoch();
  EXPECT_NEAR(*it.inspector.value("Weight Gradient Norm", "0", "max"), seen[0], 1e-4);
  EXPECT_NEAR(*it.inspector.value("Weight Gradient Norm", "0", "min"), seen[1], 1e-6);
}

TEST(Training, ShowsTheFirstUpdate) {
  OneLinear it("  - parameter_difference\n");
  it.model->forward(torch::ones({5, 4})).sum().backward();
  const double expected = 0.1 * l2_norm(it.weight.grad());
  it.optimizer.step();
  it.inspector.tick_epoch();
  EXPECT_NEAR(it.value("Weight Update Norm", "mean"), expected, 1e-5);
}

TEST(Training, ALensAfterARestCountsUpdatesFromTheParametersCurrentValue) {
  OneLinear it(
      "  - parameter_difference: {active: 2}\n"
      "  - {parameter_difference: {line: [mean, max]}, as: always}\n"
      "  - output_gradient_geometry: {active: 2}\n");
  for (int epoch = 1; epoch <= 4; ++epoch) {
    const at::Tensor before = it.weight.detach().clone();
    for (int step = 0; step < 2; ++step) {
      it.step();
    }
    const double expected = l2_norm(it.weight.detach() - before) / 2;
    it.inspector.tick_epoch();
    EXPECT_NEAR(it.value("Weight Update Norm (always)", "max"), expected, 1e-5) << epoch;
    const auto own = it.inspector.value("Weight Update Norm", "0", "mean");
    ASSERT_EQ(own.has_value(), epoch > 1) << epoch;
    EXPECT_EQ(it.inspector.value("Output Gradient Norm", "0", "mean").has_value(), epoch > 1) << epoch;
    if (own) {
      EXPECT_NEAR(*own, expected, 1e-5) << epoch;
    }
  }
}

TEST(Training, ShowsTheWeightsOfAnAttentionAndReportsAModuleWithoutSecondOutputOnce) {
  struct Net : nn::Module {
    nn::MultiheadAttention attention = register_module("attention", nn::MultiheadAttention(4, 2));
    nn::Linear fc = register_module("fc", nn::Linear(4, 4));
  } model;
  auto inspector = watching(
      "  - output_norm: {include: [attention, fc], output: 1}\n"
      "  - {output_norm: {include: [attention]}, as: first}\n"
      "  - output_gradient_geometry: {include: [attention, fc], output: 1}\n");
  inspector.attach(model);
  ::testing::internal::CaptureStderr();
  at::Tensor weights;
  for (int epoch = 0; epoch < 2; ++epoch) {
    const auto x = torch::randn({7, 2, 4});
    const auto both = model.attention(x, x, x);
    weights = std::get<1>(both);
    (model.fc(std::get<0>(both)).sum() + weights.square().sum()).backward();
    inspector.tick_epoch();
    const double expected = weights.flatten(1).norm(2, 1).mean().item<double>();
    EXPECT_NEAR(inspector.value("Output Norm", "attention", "mean").value_or(NAN), expected, 1e-5);
    EXPECT_NE(inspector.value("Output Norm (first)", "attention", "mean"),
              inspector.value("Output Norm", "attention", "mean"));
    EXPECT_NEAR(inspector.value("Output Gradient Norm", "attention", "mean").value_or(NAN),
                2 * l2_norm(weights.detach()), 1e-4);
    EXPECT_FALSE(inspector.value("Output Norm", "fc", "mean"));
  }
  const std::string told = ::testing::internal::GetCapturedStderr();
  const std::string once = "there is no output 1 of 'fc', which a lens requests";
  ASSERT_NE(told.find(once), std::string::npos) << told;
  EXPECT_EQ(told.find(once, told.find(once) + 1), std::string::npos) << told;
}

at::Tensor half_zero(at::IntArrayRef sizes) {
  return torch::relu(torch::randn(sizes));
}

at::Tensor tensor_of_form(const std::string& name) {
  if (name == "bfloat16") return half_zero({7, 33}).to(torch::kBFloat16);
  if (name == "float16") return half_zero({7, 33}).to(torch::kHalf);
  if (name == "float32") return half_zero({7, 33});
  if (name == "float64") return half_zero({7, 33}).to(torch::kDouble);
  if (name == "strided") return half_zero({33, 14}).t().slice(0, 0, 14, 2);
  if (name == "expanded") return half_zero({1, 33}).expand({7, 33});
  if (name == "channels_last") return half_zero({2, 5, 4, 3}).to(at::MemoryFormat::ChannelsLast);
  return name == "empty" ? torch::ones({0, 4}) : torch::tensor(3.0F);
}

class EveryForm : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryForm, OfATensorIsMeasuredAsLibTorchComputesIt) {
  torch::manual_seed(4);
  const at::Tensor tensor = tensor_of_form(GetParam());
  nn::Sequential model(nn::Identity{});
  auto inspector = watching("  - output_norm: {include: [Identity]}\n  - output_activation: {include: [Identity]}\n");
  inspector.attach(*model);
  model->forward(tensor);
  inspector.tick_epoch();
  const auto shown = inspector.value("Output Norm", "0", "mean");
  const auto active = inspector.value("Output Activations", "0", "activation_rate");
  if (tensor.numel() == 0) {
    EXPECT_FALSE(shown);
    EXPECT_FALSE(active);
    return;
  }
  const at::Tensor plain = tensor.to(torch::kDouble);
  const at::Tensor samples = plain.dim() == 0 ? plain.reshape({1, 1}) : plain.reshape({plain.size(0), -1});
  const double expected = samples.norm(2, 1).mean().item<double>();
  EXPECT_NEAR(shown.value_or(NAN), expected, 1e-5 * expected);
  EXPECT_NEAR(active.value_or(NAN), plain.ne(0).to(torch::kDouble).mean().item<double>(), 1e-9);
}

INSTANTIATE_TEST_SUITE_P(All, EveryForm,
                         ::testing::Values("bfloat16", "float16", "float32", "float64", "strided", "expanded",
                                           "channels_last", "empty", "zero_dimensional"),
                         [](const auto& form) { return std::string(form.param); });

TEST(Training, SwapsVisualizersWhileRunning) {
  auto model = one_linear();
  const auto folder = std::filesystem::path(::testing::TempDir()) / "loupe-swapped";
  std::filesystem::remove_all(folder);
  {
    auto inspector =
        Inspector::from_text("loupe: 1\nrun: {dir: " + folder.string() +
                             "}\nlenses: [parameter_norm]\nvisualizers: [{record: {path: first.jsonl}}]\n");
    inspector.attach(*model);
    inspector.tick_epoch();
    inspector.set_visualizers("[{record: {path: second.jsonl}}]");
    inspector.tick_epoch();
    EXPECT_THROW(inspector.set_visualizers("[recrod]"), ConfigError);
  }
  const auto count = [&](const char* file, const std::string& what) {
    std::ifstream stream(folder / file);
    int found = 0;
    for (std::string line; std::getline(stream, line);) found += line.find(what) != std::string::npos ? 1 : 0;
    return found;
  };
  EXPECT_EQ(count("first.jsonl", "\"kind\":\"tick\""), 1);
  EXPECT_EQ(count("second.jsonl", "\"kind\":\"tick\""), 1);
  EXPECT_EQ(count("second.jsonl", "\"kind\":\"tag\""), count("first.jsonl", "\"kind\":\"tag\""));
}

TEST(Training, WritesToTheDirectoryThatTheTrainerSets) {
  auto model = one_linear();
  const auto folder = std::filesystem::path(::testing::TempDir()) / "loupe-told";
  std::filesystem::remove_all(folder);
  {
    auto inspector =
        Inspector::from_text("loupe: 1\nrun: {dir: /nowhere}\nlenses: [parameter_norm]\nvisualizers: [record]\n");
    inspector.set_directory(folder.string());
    inspector.attach(*model);
    inspector.tick_epoch();
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "record.jsonl"));
}

TEST(Training, TicksByItselfInTheLoopHelperAndLeavesABrokenOffEpochOpen) {
  auto inspector =
      Inspector::from_text("loupe: 1\nattach: {train_loss: my_loss, val_loss: my_other}\nlenses: [loss_metrics]\n");
  std::vector<std::optional<double>> seen;
  for (const int epoch : inspector.epochs(5)) {
    seen.push_back(inspector.value("Loss", "Loss", "my_loss mean"));
    inspector.push_loss(epoch, /*train=*/true);
    if (epoch == 3) break;
  }
  EXPECT_EQ(seen, (std::vector<std::optional<double>>{std::nullopt, 1.0, 2.0}));
  EXPECT_EQ(inspector.loss(true), 2.0) << "the third epoch was not finished";
}

TEST(Training, AFindingInTheFirstTurnAfterACheckpointHasItsEpochNumber) {
  auto model = one_linear();
  torch::optim::SGD optimizer(model->parameters(), 0.01);
  auto inspector = watching("  - health\n");
  inspector.attach(*model, optimizer);
  std::vector<double> epochs;
  inspector.on_finding([&](const Finding& finding) {
    if (finding.rule == "gradients_not_cleared") epochs.push_back(finding.first_epoch);
  });
  for (const int epoch : inspector.epochs(8, 9)) {
    for (int step = 0; step < 4; ++step) {
      model->forward(torch::randn({8, 4})).square().mean().backward();
      optimizer.step();
    }
    ASSERT_FALSE(epochs.empty());
    EXPECT_EQ(epochs.front(), 8) << "in turn " << epoch;
  }
}

TEST(Training, CountsChangesFromTheStepWhereMeasuringRestarted) {
  OneLinear it("  - parameter_difference: {parameters: [weight], line: [max]}\n");
  const auto step = [&](double gradient) {
    it.weight.mutable_grad() = torch::full_like(it.weight, gradient);
    it.optimizer.step();
  };
  it.inspector.set_active([](int64_t) { return false; });
  for (int i = 0; i < 50; ++i) step(1);
  it.inspector.set_active([](int64_t) { return true; });
  const at::Tensor before = it.weight.detach().clone();
  step(0.5);
  it.inspector.tick_epoch();
  EXPECT_NEAR(*it.inspector.value("Weight Update Norm", "0", "max"), l2_norm(it.weight - before), 1e-6);
  EXPECT_THROW(it.inspector.set_active(nullptr), std::invalid_argument);
}

TEST(Training, HoldsNoParameterAfterDetach) {
  at::Tensor weight;
  auto inspector = watching(
      "  - parameter_difference\n"
      "  - pipeline: {gather: call_parameter, parameters: [weight], preprocess: parameter_norm, tag: Called}\n");
  {
    auto model = one_linear();
    torch::optim::SGD optimizer(model->parameters(), 0.1);
    inspector.attach(*model, optimizer);
    model->forward(torch::ones({1, 4})).sum().backward();
    optimizer.step();
    weight = model->named_parameters()["0.weight"];
    inspector.detach();
  }
  EXPECT_EQ(weight.use_count(), 1u);
}

TEST(Training, AnExposedValueThatCannotBeReadStopsOnlyItsLens) {
  auto model = one_linear();
  auto inspector = watching(
      "  - difference_monitor: {attribute: mine}\n"
      "  - output_norm: {include: [Linear]}\n");
  inspector.expose("0", "mine", []() -> at::Tensor { throw std::runtime_error("boom"); });
  inspector.attach(*model);
  ::testing::internal::CaptureStderr();
  EXPECT_NO_THROW(model->forward(torch::ones({1, 4})));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("reading 'mine' failed: boom"), std::string::npos);
  inspector.tick_epoch();
  EXPECT_TRUE(inspector.value("Output Norm", "0", "mean"));
}

TEST(Training, ReportsTwoModulesWithOneName) {
  nn::Module model("Model");
  model.register_module("a_b", nn::Linear(2, 2));
  auto inner = model.register_module("a", std::make_shared<nn::Module>("Inner"));
  inner->register_module("b", nn::Linear(2, 2));
  for (const char* separator : {"_", "."}) {
    auto inspector =
        Inspector::from_text(std::string("attach: {separator: '") + separator + "'}\nlenses: [parameter_norm]\n");
    ::testing::internal::CaptureStderr();
    inspector.attach(model);
    const bool told =
        ::testing::internal::GetCapturedStderr().find("two modules are shown as 'a_b'") != std::string::npos;
    EXPECT_EQ(told, std::string(separator) == "_");
  }
}

TEST(Training, AcceptsModuleNamesThatAreNotText) {
  nn::Module model("Model");
  model.register_module("caf\xe9", nn::Linear(2, 2));
  auto inspector = watching("  - parameter_norm\n");
  EXPECT_NO_THROW(inspector.attach(model));
  EXPECT_NO_THROW(inspector.tick_epoch());
}

namespace {

struct Loop : nn::Module {
  nn::Linear layer = register_module("0", nn::Linear(4, 3));
  torch::Tensor forward(torch::Tensor x, int times) {
    x = layer(x);
    for (int i = 0; i < times; ++i) x = torch::tanh(x);
    return x;
  }
};

}  // namespace

TEST(Training, ShowsTheFirstHundredCallsOfAFunctionInALoop) {
  Loop model;
  auto inspector = watching("  - output_norm: {include: [tanh]}\n");
  inspector.attach(model);
  ::testing::internal::CaptureStderr();
  model.forward(torch::ones({1, 4}), 100);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  inspector.tick_epoch();
  ::testing::internal::CaptureStderr();
  model.forward(torch::ones({1, 4}), 300);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("more than 100 calls of torch::tanh come after '0'"),
            std::string::npos);
  inspector.tick_epoch();
  EXPECT_TRUE(inspector.value("Output Norm", "0:tanh#100", "mean"));
  EXPECT_FALSE(inspector.value("Output Norm", "0:tanh#101", "mean"));
}

TEST(Training, ShowsAParameterAtEachForward) {
  auto model = one_linear();
  auto inspector = watching(
      "  - pipeline: {gather: call_parameter, parameters: [weight], preprocess: parameter_norm, line: [min, max], "
      "range: none, tag: Called}\n");
  inspector.attach(*model);
  const at::Tensor weight = model->named_parameters()["0.weight"];
  std::vector<double> norms;
  for (int i = 0; i < 2; ++i) {
    norms.push_back(l2_norm(weight));
    model->forward(torch::ones({5, 4}));
    const torch::NoGradGuard no_grad;
    weight.mul_(2);
  }
  inspector.tick_epoch();
  EXPECT_NEAR(inspector.value("Called", "0", "min").value_or(NAN), norms[0], 1e-5);
  EXPECT_NEAR(inspector.value("Called", "0", "max").value_or(NAN), norms[1], 1e-5);
}

}  // namespace
}  // namespace loupe
