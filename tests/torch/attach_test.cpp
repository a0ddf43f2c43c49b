#include <loupe/log.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>

#include "torch/probed.h"

// How users call attach, optimizers and ticks, and which messages they get.

namespace nn = torch::nn;
using namespace loupe::testing;

namespace {

/// Collects the messages that Loupe logs while this object lives.
class Heard {
 public:
  Heard() {
    loupe::set_log([this](loupe::LogLevel level, const std::string& message) {
      if (level != loupe::LogLevel::info) warnings.push_back(message);
      all.push_back(message);
    });
  }
  ~Heard() { loupe::set_log({}); }
  int count(const std::string& what) const {
    return static_cast<int>(std::count_if(
        all.begin(), all.end(), [&](const std::string& each) { return each.find(what) != std::string::npos; }));
  }
  Lines warnings, all;
};

/// An optimizer that LibTorch does not know; `final` lets the compiler bypass the virtual table.
struct HiddenDescent final : torch::optim::Optimizer {
  explicit HiddenDescent(std::vector<torch::Tensor> parameters)
      : Optimizer({torch::optim::OptimizerParamGroup(std::move(parameters))},
                  std::make_unique<torch::optim::SGDOptions>(0.1)) {}
  torch::Tensor step(LossClosure = nullptr) override {
    for (auto& group : param_groups()) {
      for (auto& parameter : group.params()) parameter.data().sub_(parameter.grad() * 0.1);
    }
    return {};
  }
  void save(torch::serialize::OutputArchive&) const override {}
  void load(torch::serialize::InputArchive&) override {}
};

struct Pair {
  nn::Sequential model{nn::Linear(3, 2), nn::Linear(2, 1)};
  torch::optim::Adam first{model[0]->parameters()};
  torch::optim::SGD second{model[1]->parameters(), 0.1};
  void backward() { model->forward(torch::ones({2, 3})).sum().backward(); }
};

}  // namespace

TEST(Optimizers, OfOneModelAreAttachedTogether) {
  Pair pair;
  auto inspector = probed("gatherers: [optimizer_step]");
  inspector.attach(*pair.model, {pair.first, pair.second});
  pair.backward();
  told().clear();
  pair.first.step();
  EXPECT_EQ(fields(take("optimizer_step"), 3), (Lines{"optimizer_step|0|weight", "optimizer_step|0|bias"}));
  pair.second.step();
  EXPECT_EQ(fields(take("optimizer_step"), 3), (Lines{"optimizer_step|1|weight", "optimizer_step|1|bias"}));
}

TEST(Optimizers, CanBeAttachedAfterTheModel) {
  Heard heard;
  Pair pair;
  auto inspector = probed("gatherers: [optimizer_step]");
  inspector.attach(*pair.model, pair.first);
  inspector.attach_optimizer(pair.second);
  pair.backward();
  told().clear();
  pair.second.step();
  EXPECT_EQ(take("optimizer_step").size(), 2U);
  inspector.tick_epoch();
  EXPECT_EQ(heard.warnings, Lines());
  nn::Linear other(2, 2);
  torch::optim::SGD foreign(other->parameters(), 0.1);
  EXPECT_THROW(inspector.attach_optimizer(foreign), std::invalid_argument);
}

TEST(Optimizers, WithoutAllParametersCauseOneWarning) {
  Heard heard;
  Pair pair;
  auto inspector = probed("gatherers: [optimizer_step]");
  inspector.attach(*pair.model, pair.first);
  inspector.tick_epoch();
  inspector.tick_epoch();
  ASSERT_EQ(heard.warnings.size(), 1U);
  EXPECT_NE(heard.warnings[0].find("2 parameters of 'Sequential' require gradients"), std::string::npos);
  EXPECT_NE(heard.warnings[0].find("'1' (weight, bias)"), std::string::npos) << heard.warnings[0];
}

TEST(Optimizers, WithoutFrozenParametersCauseNoWarning) {
  Heard heard;
  Pair pair;
  for (auto& parameter : pair.model[1]->parameters()) parameter.set_requires_grad(false);
  auto inspector = probed("gatherers: [optimizer_step]");
  inspector.attach(*pair.model, pair.first);
  inspector.tick_epoch();
  EXPECT_EQ(heard.warnings, Lines());
}

TEST(Optimizers, OfADifferentTypeAreSeenAfterAReplacement) {
  nn::Linear model(3, 2);
  std::unique_ptr<torch::optim::Optimizer> optimizer = std::make_unique<torch::optim::Adam>(model->parameters());
  auto inspector = probed("gatherers: [optimizer_step]");
  inspector.attach(*model, *optimizer);
  const auto steps = [&] {
    optimizer->zero_grad();
    model(torch::ones({2, 3})).sum().backward();
    told().clear();
    optimizer->step();
    return take("optimizer_step|Linear|weight").size();
  };
  EXPECT_EQ(steps(), 1U);
  optimizer = std::make_unique<torch::optim::SGD>(model->parameters(), 0.1);
  EXPECT_EQ(steps(), 1U) << "an optimizer of LibTorch";
  optimizer = std::make_unique<HiddenDescent>(model->parameters());
  EXPECT_EQ(steps(), 1U) << "the user's optimizer";
}

TEST(Optimizers, WithStepsThatCannotBeSeenCauseOneWarningWithTheRemedy) {
  Heard heard;
  nn::Linear model(3, 2);
  HiddenDescent optimizer(model->parameters());
  auto inspector = probed("gatherers: [optimizer_step]");
  inspector.attach(*model, optimizer);
  for (int epoch = 0; epoch < 2; ++epoch) {
    model(torch::ones({2, 3})).sum().backward();
    optimizer.HiddenDescent::step();  // bypasses the virtual table, however the compiler calls it
    inspector.tick_epoch();
  }
  ASSERT_EQ(heard.warnings.size(), 1U);
  EXPECT_NE(heard.warnings[0].find("(such as 'weight' of 'Linear') changed"), std::string::npos) << heard.warnings[0];
  EXPECT_NE(heard.warnings[0].find("inspector.optimizer_stepped()"), std::string::npos);
}

TEST(Optimizers, WhoseStepsAreToldByHandAreNotWarnedOf) {
  Heard heard;
  nn::Linear model(3, 2);
  HiddenDescent optimizer(model->parameters());
  auto inspector = probed("gatherers: [optimizer_step]");
  inspector.attach(*model, optimizer);
  told().clear();
  for (int epoch = 0; epoch < 2; ++epoch) {
    model(torch::ones({2, 3})).sum().backward();
    optimizer.HiddenDescent::step();
    inspector.optimizer_stepped();
    inspector.tick_epoch();
  }
  EXPECT_EQ(take("optimizer_step|Linear|weight").size(), 2U);
  EXPECT_EQ(heard.warnings, Lines());
}

TEST(LastValues, AfterTheLastTickAreCountedInAWarning) {
  Heard heard;
  {
    auto inspector = loupe::Inspector::from_text("lenses: [loss_metrics]\n");
    inspector.push_loss(1, true);
    inspector.tick_epoch();
    inspector.push_loss(1, true);
    inspector.push_metric("accuracy", 1);
  }
  ASSERT_EQ(heard.warnings.size(), 1U);
  EXPECT_EQ(heard.warnings[0].find("2 values that came after the last tick are not shown"), 0U) << heard.warnings[0];
}

TEST(LastValues, CauseNoWarningIfATickShowedThemOrNoLensWantsThem) {
  Heard heard;
  {
    nn::Linear model(3, 2);
    auto inspector = loupe::Inspector::from_text("lenses: [loss_metrics, output_norm: {include: [Linear]}]\n");
    inspector.attach(*model);
    model(torch::ones({2, 3}));
    inspector.tick_epoch();
    model->eval();
    model(torch::ones({2, 3}));
  }
  EXPECT_EQ(heard.warnings, Lines());
}

TEST(Turns, CanTickThemselvesToStopEarly) {
  auto inspector = loupe::Inspector::from_text("lenses: [loss_metrics]\n");
  std::vector<int> epochs;
  for (const int epoch : inspector.epochs(4, 9)) {
    inspector.push_loss(10 - epoch, false);
    epochs.push_back(epoch);
    if (epoch != 5) inspector.tick_epoch();  // the loop ticks epoch 5 by itself
    if (inspector.loss(false) == 4.0) break;
  }
  EXPECT_EQ(epochs, (std::vector<int>{4, 5, 6}));
  std::vector<int> next;
  for (const int epoch : inspector.epochs(2)) next.push_back(epoch);
  EXPECT_EQ(next, (std::vector<int>{7, 8}));
}

TEST(Turns, WithALateFirstEpochSuggestResume) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "loupe-late";
  const auto warnings = [&](const std::string& run, int first) {
    Heard heard;
    auto inspector = loupe::Inspector::from_text("run: {dir: " + folder.string() + run +
                                                 "}\nlenses: [loss_metrics]\nvisualizers: [record]\n");
    for (const int epoch : inspector.epochs(first, first)) inspector.push_loss(epoch, true);
    for (const int epoch : inspector.epochs(first + 3, first + 3)) inspector.push_loss(epoch, true);
    return heard.count("set run.resume: true");
  };
  EXPECT_EQ(warnings("", 6), 1);
  EXPECT_EQ(warnings("", 1), 0);
  EXPECT_EQ(warnings(", resume: true", 6), 0);
}

TEST(Inspector, RefusesImpossibleTimes) {
  auto inspector = loupe::Inspector::from_text("lenses: [loss_metrics]\n");
  EXPECT_THROW(inspector.tick_epoch(NAN), std::invalid_argument);
  EXPECT_THROW(inspector.tick_epoch(INFINITY), std::invalid_argument);
  EXPECT_THROW(inspector.tick_epoch(1e300), std::invalid_argument) << "no reader of a record would accept it";
  try {
    inspector.loss(true, "medain");
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("'median'"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("mean, median, max, min"), std::string::npos) << e.what();
  }
  EXPECT_FALSE(inspector.loss(true, "median"));
}

TEST(Inspector, ReportsWhatCannotBeSeenOfParametersMadeInInferenceMode) {
  Heard heard;
  std::unique_ptr<nn::Linear> model;
  {
    const c10::InferenceMode inference;
    model = std::make_unique<nn::Linear>(3, 2);
  }
  torch::optim::SGD optimizer((*model)->parameters(), 0.1);
  auto inspector = probed("gatherers: [optimizer_step, parameter_gradient, tick]");
  ASSERT_NO_THROW(inspector.attach(**model, optimizer));
  EXPECT_EQ(heard.count("were made in inference mode"), 1);
  ASSERT_NO_THROW(inspector.tick_epoch());
}

TEST(Inspector, PrintsASummaryOnlyIfWanted) {
  nn::Linear model(3, 2);
  for (const bool wanted : {true, false}) {
    Heard heard;
    auto inspector = loupe::Inspector::from_text(std::string("attach: {summary: ") + (wanted ? "true" : "false") +
                                                 "}\nlenses: [parameter_norm]\n");
    inspector.attach(*model);
    EXPECT_EQ(heard.count("attached 'Linear'"), wanted ? 1 : 0);
  }
}

TEST(Log, MayThrowAndBeReplacedByItself) {
  nn::Linear model(3, 2);
  loupe::set_log([](loupe::LogLevel, const std::string&) {
    loupe::set_log({});
    throw std::runtime_error("no");
  });
  ::testing::internal::CaptureStderr();
  auto inspector = probed();
  inspector.attach(*model);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("attached 'Linear'"), std::string::npos);
}

TEST(Inspector, StillReadsParametersOfADestroyedModelAtTheLastTick) {
  struct Net : nn::Module {
    nn::Linear layer = register_module("layer", nn::Linear(nn::LinearOptions(4, 4).bias(false)));
    at::Tensor weight = register_parameter("weight", torch::randn({4, 4}) / 2);
    at::Tensor forward(const at::Tensor& input) { return layer->forward(input.mm(weight)); }
  };
  alignas(Net) std::array<std::byte, sizeof(Net)> memory;
  auto* model = new (memory.data()) Net;
  auto inspector = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n");
  torch::optim::SGD optimizer(model->parameters(), 0.05);
  inspector.attach(*model, optimizer);
  for (int i = 0; i < 8; ++i) {
    optimizer.zero_grad();
    model->forward(torch::randn({8, 4})).square().mean().backward();
    optimizer.step();
  }
  model->~Net();
  for (std::size_t i = 0; i < memory.size(); ++i) memory.at(i) = static_cast<std::byte>(i * 37);  // reused memory
  inspector.tick_epoch();  // health reads some elements of the gradients here
  EXPECT_TRUE(inspector.findings().empty());
}
