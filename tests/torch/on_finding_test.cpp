// A callback of on_finding may do everything that the trainer may, as Loupe calls it without any lock.

#include <gtest/gtest.h>
#include <loupe/inspector.h>
#include <loupe/plugin.h>
#include <loupe/register_plugin.h>
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <thread>

namespace {

namespace nn = torch::nn;

/// Reports a finding at each tick.
class LateTeller : public loupe::Lens {
 public:
  static constexpr const char* name = "late_teller";
  static constexpr const char* help = "reports a finding at each tick";
  explicit LateTeller(const loupe::Options&) {}

  void visit(const loupe::Module&) override {}
  void report(loupe::Report& report) override {
    loupe::Finding finding;
    finding.rule = "late";
    finding.message = "it is over";
    report.finding(finding);
  }
};
LOUPE_STATIC_PLUGIN(late_tellers, "late_tellers", "1.0", LateTeller);

/// Calls the inspector within its report.
std::function<void()> within_report;
class Caller : public loupe::Lens {
 public:
  static constexpr const char* name = "caller";
  static constexpr const char* help = "uses the trainer's inspector";
  explicit Caller(const loupe::Options&) {}

  void visit(const loupe::Module&) override {}
  void report(loupe::Report& report) override {
    loupe::Finding finding;
    finding.rule = "found";
    finding.message = "it is told";
    report.finding(finding);
    if (within_report) within_report();
  }
};
LOUPE_STATIC_PLUGIN(callers, "callers", "1.0", Caller);

class OnFinding : public testing::Test {
 protected:
  OnFinding() {
    loupe::register_plugin(late_tellers);
    loupe::register_plugin(callers);
    ::alarm(120);  // ends the test program if a callback hangs
    torch::manual_seed(3);
    model = nn::Sequential(nn::Linear(6, 8), nn::ReLU(), nn::Linear(8, 3));
    optimizer = std::make_unique<torch::optim::SGD>(model->parameters(), 0.05);
  }
  ~OnFinding() override { ::alarm(0); }

  void step(bool clears) {
    if (clears) optimizer->zero_grad();
    torch::relu(model->forward(torch::randn({16, 6}))).pow(2).mean().backward();
    optimizer->step();
  }
  /// Trains so that health finds something at a step and then at a tick. Returns the rules of the findings that the
  /// callback received.
  std::vector<std::string> told_while(const std::function<void(const loupe::Finding&)>& callback,
                                      const std::string& yaml = "") {
    std::vector<std::string> told;
    {
      auto made = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health, output_norm]\n" + yaml);
      inspector = &made;
      made.on_finding([&](const loupe::Finding& finding) {
        told.push_back(finding.rule);
        callback(finding);
      });
      made.attach(*model, *optimizer);
      for ([[maybe_unused]] int epoch : made.epochs(3)) {
        for (int i = 0; i < 3; ++i) step(/*clears=*/false);
      }
      {
        const torch::NoGradGuard guard;
        model->parameters()[0].fill_(NAN);
      }
      step(true);
      made.tick_epoch();
      is_attached = made.coverage() != "";
    }
    return told;
  }

  nn::Sequential model{nullptr};
  std::unique_ptr<torch::optim::SGD> optimizer;
  loupe::Inspector* inspector = nullptr;
  bool is_attached = false;
};

bool has(const std::vector<std::string>& told, const char* rule) {
  return std::find(told.begin(), told.end(), rule) != told.end();
}

TEST_F(OnFinding, MayTrainOn) {
  int trained = 0;
  const auto told = told_while([&](const loupe::Finding&) {
    if (++trained < 4) step(true);
  });
  EXPECT_TRUE(has(told, "gradients_not_cleared"));
}

TEST_F(OnFinding, MayJoinAThreadThatTrains) {
  int trained = 0;
  const auto told = told_while([&](const loupe::Finding&) {
    if (++trained > 3) return;
    std::thread([&] {
      step(true);
      EXPECT_FALSE(inspector->findings().empty());
      inspector->note("trained elsewhere");
    }).join();
  });
  EXPECT_TRUE(has(told, "gradients_not_cleared"));
}

TEST_F(OnFinding, MayTick) {
  int ticks = 0;
  told_while([&](const loupe::Finding&) {
    if (++ticks < 4) inspector->tick_epoch();
  });
  EXPECT_GE(ticks, 1);
}

TEST_F(OnFinding, MayDetachTheModel) {
  const auto told = told_while([&](const loupe::Finding&) { inspector->detach(); });
  EXPECT_TRUE(has(told, "gradients_not_cleared"));
  EXPECT_FALSE(has(told, "non_finite"));
  EXPECT_FALSE(is_attached);
}

TEST_F(OnFinding, MayAttachAnotherModel) {
  nn::Sequential other(nn::Linear(2, 2));
  bool is_new = true;
  told_while([&](const loupe::Finding&) {
    if (std::exchange(is_new, false)) inspector->attach(*other, "other");
    other->forward(torch::ones({1, 2}));
  });
  EXPECT_FALSE(is_new);
}

TEST_F(OnFinding, MayRemoveItself) {
  const auto told = told_while([&](const loupe::Finding&) { inspector->on_finding({}); });
  EXPECT_EQ(told, std::vector<std::string>{"gradients_not_cleared"});
}

TEST_F(OnFinding, MayCallAllOtherFunctions) {
  int called = 0;
  told_while([&](const loupe::Finding& finding) {
    ++called;
    EXPECT_FALSE(inspector->findings().empty());
    inspector->push_loss(1.0, true);
    inspector->push_metric(finding.rule, 2.0);
    inspector->note("found");
    inspector->dump("found");
    inspector->set_hyperparameter("found", 1.0);
    inspector->set_active([](int64_t) { return true; });
    inspector->set_directory(testing::TempDir() + "loupe_on_finding");
    inspector->set_visualizers("[record]");
    inspector->value("Output Norm", "0", "mean");
    inspector->should_stop();
  });
  EXPECT_GE(called, 2);
}

TEST_F(OnFinding, IsDeliveredOnceTheStepIsOver) {
  // During the step, this parameter would still have its previous value.
  std::vector<bool> steps_were_over;
  at::Tensor before;
  const auto step_once = [&] {
    before = model->parameters()[0].detach().clone();
    step(false);
  };
  auto made = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [health]\n");
  made.on_finding([&](const loupe::Finding&) {
    steps_were_over.push_back(!torch::equal(before, model->parameters()[0].detach()));
  });
  made.attach(*model, *optimizer);
  for (int i = 0; i < 3; ++i) step_once();
  EXPECT_FALSE(steps_were_over.empty());
  EXPECT_EQ(std::count(steps_were_over.begin(), steps_were_over.end(), false), 0);
}

TEST_F(OnFinding, WaitsForALensThatCallsTheInspector) {
  auto made = loupe::Inspector::from_text("attach: {summary: false}\nlenses: [caller]\n");
  made.attach(*model, *optimizer);
  std::vector<std::string> order;
  made.on_finding([&](const loupe::Finding&) { order.push_back("told"); });
  within_report = [&] {
    made.push_metric("seen", 1.0);
    step(true);
    order.push_back("reported");
  };
  made.tick_epoch();
  within_report = nullptr;
  EXPECT_EQ(order, (std::vector<std::string>{"reported", "told"}));
}

TEST_F(OnFinding, ReceivesFindingsOfTheInspectorsEnd) {
  std::set<std::string> told;
  const auto alive = std::make_shared<int>(7);
  {
    // The inspector's end is a tick, as some steps have not been shown yet.
    auto made =
        loupe::Inspector::from_text("run: {tick: {steps: 1000}}\nattach: {summary: false}\nlenses: [late_teller]\n");
    made.attach(*model, *optimizer);
    step(true);
    made.on_finding(
        [&told, alive](const loupe::Finding& finding) { told.insert(finding.rule + std::to_string(*alive)); });
  }
  EXPECT_EQ(told, (std::set<std::string>{"late7"}));
  EXPECT_EQ(alive.use_count(), 1);
}

TEST_F(OnFinding, MayUseTheInspectorWhileItEnds) {
  std::size_t known = 0;
  {
    auto made = loupe::Inspector::from_text(
        "run: {tick: {steps: 1000}}\nattach: {summary: false}\nlenses: [late_teller, loss_metrics, output_norm]\n");
    made.attach(*model, *optimizer);
    step(true);
    made.push_loss(1.0, true);
    made.on_finding([&](const loupe::Finding&) {
      known = made.findings().size();
      made.push_loss(1.0, true);
      made.set_active([](int64_t) { return false; });
      made.tick_epoch();
      made.note("late");
      EXPECT_THROW(made.attach(*model, "again"), std::logic_error);
    });
  }
  EXPECT_GE(known, 1U);
}

}  // namespace
