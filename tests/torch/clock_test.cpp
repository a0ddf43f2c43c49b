// Ticks by steps and seconds, and steps that are measured only now and then, in the situations of real trainers.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <loupe/log.h>
#include <torch/torch.h>

#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace loupe {
namespace {

namespace nn = torch::nn;
using Losses = std::vector<std::optional<double>>;

/// Collects Loupe's messages while this object lives.
class Listened {
 public:
  Listened() {
    set_log([this](LogLevel level, const std::string& message) {
      const std::lock_guard lock(mutex_);
      if (level != LogLevel::info) text_ += message + "\n";
    });
  }
  ~Listened() { set_log({}); }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

Inspector inspector_of(const std::string& yaml) {
  return Inspector::from_text("loupe: 1\n" + yaml);
}
Inspector ticking(const std::string& tick) {
  return inspector_of("run: {tick: {" + tick + "}}\nlenses: [loss_metrics]\n");
}

/// One layer and its optimizer. The gradient is the same in each step.
struct Trained {
  explicit Trained(double rate = 0.1) : optimizer(model->parameters(), rate) {}
  void step() {
    optimizer.zero_grad();
    model->forward(torch::ones({5, 4})).sum().backward();
    optimizer.step();
  }
  nn::Sequential model{nn::Linear(4, 3)};
  torch::optim::SGD optimizer;
};

/// A model attached to an inspector with the given ticks.
struct Ticking : Trained {
  explicit Ticking(const std::string& tick) : inspector(ticking(tick)) { inspector.attach(*model, optimizer); }
  /// Makes a step with this loss and returns the mean loss that Loupe then shows.
  std::optional<double> step(double loss) {
    inspector.push_loss(loss, /*train=*/true);
    Trained::step();
    return inspector.loss(true);
  }
  Inspector inspector;
};

/// Two models. By default, ticks count the second model's steps.
struct TwoModels {
  explicit TwoModels(const std::string& tick = "steps: 1, of: second") : inspector(ticking(tick)) {
    inspector.attach(*first.model, first.optimizer, "first");
    attach_second();
  }
  void attach_second() { inspector.attach(*second.model, second.optimizer, "second"); }
  void step(Trained& which, double loss) {
    inspector.push_loss(loss, /*train=*/true);
    which.step();
  }
  Trained first, second;
  Inspector inspector;
};

void expect_once(const std::string& text, const std::string& told) {
  ASSERT_NE(text.find(told), std::string::npos) << text;
  EXPECT_EQ(text.find(told), text.rfind(told)) << text;
}
void expect_no_complaint_of_a_name(const std::string& text) {
  EXPECT_EQ(text.find("run.tick.of"), std::string::npos) << text;
}

TEST(StepClock, TicksAtTheOptimizersStepsAndShowsTheRestAtTheLoopsEnd) {
  Listened listened;
  Ticking it("steps: 3");
  Losses after;
  for (const auto step : it.inspector.steps(7)) after.push_back(it.step(static_cast<double>(step)));
  EXPECT_EQ(after, (Losses{std::nullopt, std::nullopt, 2.0, 2.0, 2.0, 5.0, 5.0}));
  EXPECT_EQ(it.inspector.loss(true), 7.0);
  EXPECT_EQ(listened.text(), "");
}

TEST(StepClock, LoopsGoOnWhereTheLastOneEndedAndMayBeginLater) {
  Ticking it("steps: 2");
  std::vector<std::int64_t> steps;
  for (const int count : {2, 1}) {
    for (const auto step : it.inspector.steps(count)) {
      steps.push_back(step);
      it.Trained::step();
    }
  }
  for (const auto step : it.inspector.steps(11, 12)) steps.push_back(step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 2, 3, 11, 12}));
  EXPECT_THROW(it.inspector.steps(0, 5), std::invalid_argument);
}

TEST(StepClock, CountsTheTurnsOfTheLoopIfThereIsNoOptimizer) {
  auto inspector = ticking("steps: 2");
  Losses after;
  for (const auto step : inspector.steps(4)) {
    after.push_back(inspector.loss(true));
    inspector.push_loss(static_cast<double>(step), /*train=*/true);
  }
  EXPECT_EQ(after, (Losses{std::nullopt, std::nullopt, 1.5, 1.5}));
}

TEST(StepClock, SaysWhatBecomesOfATrainersEpochs) {
  Listened listened;
  Ticking it("steps: 4");
  Losses after;
  for (const int epoch : it.inspector.epochs(3)) {
    for (int i = 0; i < 3; ++i) it.step(epoch);
    after.push_back(it.inspector.loss(true));
  }
  EXPECT_EQ(after, (Losses{std::nullopt, 1.25, 2.5}));
  EXPECT_EQ(it.inspector.loss(true), 3.0) << "the steps after the last full tick";
  EXPECT_NE(listened.text().find("ticks every 4 steps (run.tick)"), std::string::npos) << listened.text();
}

TEST(StepClock, WarnsIfALoopOverStepsHasNoTicks) {
  Listened listened;
  auto inspector = inspector_of("lenses: [loss_metrics]\n");
  for (const auto step : inspector.steps(3)) inspector.push_loss(static_cast<double>(step), /*train=*/true);
  EXPECT_EQ(inspector.loss(true), 2.0);
  EXPECT_NE(listened.text().find("set run: {tick: {steps: 500}}"), std::string::npos) << listened.text();
}

TEST(StepClock, TheFirstAttachedModelsOptimizerCountsUnlessAnotherIsNamed) {
  for (const std::string of : {"", ", of: second"}) {
    TwoModels it("steps: 2" + of);
    Losses after;
    for (int i = 1; i <= 4; ++i) {
      it.step(it.second, i);
      if (i % 2 == 0) it.first.step();
      after.push_back(it.inspector.loss(true));
    }
    const Losses of_first = {std::nullopt, std::nullopt, std::nullopt, 2.5};
    const Losses of_second = {std::nullopt, 1.5, 1.5, 3.5};
    EXPECT_EQ(after, of.empty() ? of_first : of_second) << of;
  }
}

TEST(StepClock, ATypeNamesAModelWithoutAName) {
  Listened listened;
  Ticking it("steps: 1, of: Sequential");
  EXPECT_EQ(it.step(1), 1.0);
  expect_no_complaint_of_a_name(listened.text());
}

TEST(StepClock, ANameTakesPrecedenceOverAnotherModelsType) {
  Ticking unnamed("steps: 1, of: Sequential");
  Trained named;
  unnamed.inspector.attach(*named.model, named.optimizer, "Sequential");
  EXPECT_EQ(unnamed.step(1), std::nullopt);
  named.step();
  EXPECT_EQ(unnamed.inspector.loss(true), 1.0);
}

TEST(StepClock, AnUnknownNameIsReportedWithTheTypeOfAModelWithoutAName) {
  Listened listened;
  Ticking it("steps: 1, of: encoder");
  it.inspector.push_loss(1.0, /*train=*/true);
  EXPECT_NE(listened.text().find("'encoder', but no attached model has this name"), std::string::npos)
      << listened.text();
  EXPECT_NE(listened.text().find("until one does; the only one is: Sequential"), std::string::npos) << listened.text();
}

TEST(StepClock, ANamedModelThatIsNotAttachedIsToldOnceWithTheNearest) {
  Listened listened;
  TwoModels it("steps: 1, of: secnd");
  for (int i = 1; i <= 3; ++i) it.step(it.second, i);
  EXPECT_EQ(it.inspector.loss(true), std::nullopt);
  const std::string text = listened.text(), told = "run.tick.of names 'secnd', but no attached model has this name";
  expect_once(text, told);
  EXPECT_NE(text.find("did you mean 'second'?", text.find(told)), std::string::npos) << text;
}

TEST(StepClock, ALossAfterTheNamedModelIsDetachedTellsOnceThatNothingTicks) {
  Listened listened;
  TwoModels it;
  it.inspector.detach("second");
  it.attach_second();  // before a loss comes, so nothing is reported
  it.step(it.second, 1);
  expect_no_complaint_of_a_name(listened.text());
  it.inspector.detach("second");
  for (int i = 1; i <= 2; ++i) it.step(it.first, i);
  expect_once(listened.text(), "run.tick.of names 'second', which is detached");
}

TEST(StepClock, DetachingTheNamedModelBeforeTheEndIsNoMistake) {
  Listened listened;
  {
    TwoModels it;
    it.step(it.second, 1);
    it.inspector.detach("second");
  }
  expect_no_complaint_of_a_name(listened.text());
}

TEST(StepClock, CountsAReplacementOfTheFirstOptimizerButNotAnOptimizerOfOtherParameters) {
  nn::Sequential model(nn::Linear(4, 3), nn::Linear(3, 2));
  torch::optim::SGD head(model[1]->parameters(), 0.1), body(model[0]->parameters(), 0.1);
  auto inspector = ticking("steps: 1");
  inspector.attach(*model, {head, body});
  const auto ticked = [&](torch::optim::Optimizer& optimizer, double loss) {
    inspector.push_loss(loss, /*train=*/true);
    optimizer.zero_grad();
    model->forward(torch::ones({5, 4})).sum().backward();
    optimizer.step();
    return inspector.loss(true).value_or(-1);
  };
  EXPECT_EQ(ticked(head, 1), 1);
  EXPECT_EQ(ticked(body, 2), 1);
  torch::optim::Adam all(model->parameters());
  EXPECT_EQ(ticked(all, 4), 3) << "the mean includes the loss that waited for a tick";
}

TEST(StepClock, ATickOfAStepOnAnotherThreadWaitsForTheNextCall) {
  Ticking it("steps: 2");
  it.inspector.push_loss(1, /*train=*/true);
  std::thread([&] {
    for (int i = 0; i < 2; ++i) it.Trained::step();
  }).join();
  EXPECT_FALSE(it.inspector.loss(true).has_value());
  it.inspector.push_loss(2, /*train=*/true);
  EXPECT_EQ(it.inspector.loss(true), 1.0);
}

TEST(StepClock, ShowsTheRestWhenTheInspectorIsDestroyed) {
  Listened listened;
  {
    Ticking it("steps: 100");
    for (int i = 0; i < 3; ++i) it.step(1);
  }
  EXPECT_EQ(listened.text(), "");
}

TEST(SampledTraining, ShowsUpdatesOfSingleStepsAndMakesNoFalseComplaint) {
  Listened listened;
  Trained it;
  auto inspector = inspector_of(
      "attach: {every: 3}\nlenses:\n  - parameter_difference: {line: [max, min]}\n  - health: {off: [update_ratio]}\n");
  inspector.attach(*it.model, it.optimizer);
  const at::Tensor weight = it.model->named_parameters()["0.weight"];
  for (int epoch = 0; epoch < 2; ++epoch) {
    const at::Tensor before = weight.detach().clone();
    for (int i = 0; i < 12; ++i) it.step();
    const double one = (weight.detach() - before).norm().item<double>() / 12;
    inspector.tick_epoch();
    EXPECT_NEAR(inspector.value("Weight Update Norm", "0", "max").value_or(NAN), one, 1e-4);
    EXPECT_NEAR(inspector.value("Weight Update Norm", "0", "min").value_or(NAN), one, 1e-4);
  }
  EXPECT_EQ(listened.text(), "");
  for (const Finding& each : inspector.findings())
    EXPECT_EQ(each.rule, "repeated_batch") << each.message;  // the test does train on one batch
}

TEST(SampledTraining, SeesGradientsThatNobodyClearsAndKnowsClearedGradients) {
  for (const bool clears : {true, false}) {
    Trained it(1e-3);
    auto inspector = inspector_of("attach: {every: 4}\nlenses: [health: {off: [repeated_batch]}]\n");
    inspector.attach(*it.model, it.optimizer);
    bool found = false;
    for (int i = 0; i < 30; ++i) {
      // Zeroes the gradient in place, so that its tensor stays the same.
      if (clears && it.model[0]->parameters()[0].grad().defined()) {
        for (auto& parameter : it.model->parameters()) parameter.mutable_grad().zero_();
      }
      it.model->forward(torch::randn({5, 4})).pow(2).sum().backward();
      it.optimizer.step();
    }
    for (const Finding& each : inspector.findings()) found = found || each.rule == "gradients_not_cleared";
    EXPECT_EQ(found, !clears);
  }
}

TEST(SampledTraining, MeasuresAModelThatTrainsAfterTheModelThatCountsSteps) {
  Trained first, second(1e-3);
  auto inspector = inspector_of("attach: {every: 20}\nlenses: [health: {off: [repeated_batch]}]\n");
  inspector.attach(*first.model, first.optimizer, "first");
  inspector.attach(*second.model, second.optimizer, "second");
  for (int i = 0; i < 30; ++i) first.step();
  for (int i = 0; i < 200; ++i) {
    second.model->forward(torch::randn({5, 4})).pow(2).sum().backward();  // the loop does not clear its gradients
    second.optimizer.step();
  }
  std::set<std::string> rules;
  for (const Finding& each : inspector.findings()) rules.insert(each.rule);
  EXPECT_EQ(rules.count("gradients_not_cleared"), 1U);
}

/// The rules of the findings if Loupe measures only the first two of each hundred steps.
template <class Step>
std::set<std::string> found_in_passed_steps(int steps, Step&& step) {
  Trained it;
  auto inspector = inspector_of("attach: {every: 50}\nlenses: [health]\n");
  inspector.attach(*it.model, it.optimizer);
  for (int i = 0; i < steps; ++i) {
    it.model->zero_grad();
    it.model->forward(torch::randn({5, 4})).pow(2).mean().backward();
    step(it, i);
  }
  std::set<std::string> rules;
  for (const Finding& each : inspector.findings()) rules.insert(each.rule);
  return rules;
}

TEST(SampledTraining, SeesANewOptimizerInEachStepThatNobodyLooksAt) {
  std::optional<torch::optim::Adam> adam;
  const auto found = found_in_passed_steps(12, [&](Trained& it, int) {
    adam.emplace(it.model->parameters(), torch::optim::AdamOptions(1e-3));  // each new optimizer has the same address
    adam->step();
  });
  EXPECT_EQ(found, std::set<std::string>{"new_optimizer"});
}

TEST(Optimizers, OfTheSameParametersThatTakeTurnsAreNotReportedAsNew) {
  // An adversarial autoencoder does so: its encoder is trained by the reconstruction, then against a discriminator.
  std::vector<std::unique_ptr<torch::optim::Adam>> adams;
  const auto found = found_in_passed_steps(24, [&](Trained& it, int i) {
    while (adams.size() < 3) adams.push_back(std::make_unique<torch::optim::Adam>(it.model->parameters(), 1e-3));
    adams[static_cast<std::size_t>(i) % adams.size()]->step();
  });
  EXPECT_EQ(found, std::set<std::string>());
}

TEST(SampledTraining, SeesUnbalancedTargetsAsEarlyAsWithEveryStepMeasured) {
  Trained it;
  auto inspector = inspector_of("run: {tick: {steps: 200}}\nattach: {every: 10}\nlenses: [health]\n");
  inspector.attach(*it.model, it.optimizer);
  const at::Tensor targets = torch::zeros({40}, torch::kLong);
  targets[39] = 1;
  for (int i = 0; i < 1000; ++i) {
    it.optimizer.zero_grad();
    torch::cross_entropy_loss(it.model->forward(torch::randn({40, 4})), targets).backward();
    it.optimizer.step();
  }
  inspector.tick_epoch();
  std::string found;
  for (const Finding& each : inspector.findings())
    found += each.rule == "unbalanced_targets" ? each.message + "\n" : "";
  EXPECT_NE(found.find("and the model answers nothing else"), std::string::npos) << found;
}

/// Its steps bypass the virtual table, so no tap sees them.
class OwnDescent final : public torch::optim::SGD {
 public:
  using SGD::SGD;
  torch::Tensor step(LossClosure = nullptr) override {
    const torch::NoGradGuard no_grad;
    for (auto& group : param_groups()) {
      for (auto& parameter : group.params()) parameter.sub_(parameter.grad(), 0.01);
    }
    return {};
  }
};

TEST(SampledTraining, MeasuresEveryStepIfNoTapSeesTheSteps) {
  nn::Sequential model(nn::Linear(4, 3));
  OwnDescent optimizer(model->parameters(), 0.1);
  auto inspector =
      inspector_of("run: {tick: {steps: 5}}\nattach: {every: 10}\nlenses: [loss_metrics, parameter_difference]\n");
  inspector.attach(*model, optimizer);
  int ticks = 0;
  double last = 0;
  for (int i = 1; i <= 21; ++i) {
    inspector.push_loss(i, /*train=*/true);
    optimizer.zero_grad();
    model->forward(torch::ones({5, 4})).sum().backward();
    optimizer.step();
    const double now = inspector.loss(true).value_or(0);
    ticks += now != last ? 1 : 0;
    last = now;
  }
  EXPECT_EQ(ticks, 4);
}

}  // namespace
}  // namespace loupe
