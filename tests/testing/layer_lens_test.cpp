// Tests of loupe/layer_lens.h, numbers.h and rule.h, used as by the author of a lens.

#include <gtest/gtest.h>
#include <loupe/plugin.h>
#include <loupe/testing.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "paths.h"

namespace {

namespace lt = loupe::testing;
using lt::Bench;
using lt::tensor;

struct LargestOutput : loupe::LayerLens {
  static constexpr const char *name = "largest_output", *help = "the largest element of each output";
  using LayerLens::LayerLens;
  void visit(const loupe::Module& module) override {
    each(module, loupe::Watch("forward").measure(LOUPE_MEASURE_EXTREMES),
         [](const loupe::Event& event) { return event.measurement().maximum; });
  }
};

/// Shows the first element of each output of activations; negative elements give no value.
struct FirstActivation : loupe::LayerLens {
  static constexpr const char *name = "first_activation", *help = "the first element of each output";
  static std::vector<loupe::Option> options() { return options_with({{"scale", 1.0, "what it is multiplied by"}}); }
  FirstActivation(const loupe::Options& options, const loupe::Host& host)
      : LayerLens(options, host), scale_(options.get<double>("scale")) {
    style().unit = "V";
  }
  void visit(const loupe::Module& module) override {
    if (!takes(module, loupe::is_activation(module))) return;
    each(module, "forward", [scale = scale_](const loupe::Event& event) -> std::optional<double> {
      const double first = loupe::Elements(event.tensor()).at(0);
      return first < 0 ? std::nullopt : std::optional(scale * first);
    });
  }

 private:
  double scale_;
};

/// Shows a number for each column, and another number in a second plot.
struct Columns : loupe::LayerLens {
  static constexpr const char *name = "columns", *help = "each column of the first row";
  using LayerLens::LayerLens;
  void visit(const loupe::Module& module) override {
    each(module, "forward", [](const loupe::Event& event, loupe::Numbers& numbers) {
      const loupe::Elements elements(event.tensor());
      for (int64_t column = 0; column < elements.size(-1); ++column)
        numbers.push("column", static_cast<std::size_t>(column), elements(0, column));
      numbers.push("rows", static_cast<double>(elements.size(0)));
    });
    each(
        module, loupe::Watch("tick").label("bias"),
        [](const loupe::Event& event) { return static_cast<float>(event.tensor().numel()); }, "Bias Size");
  }
};

/// Shows the largest element of each output, and the size of each weight.
struct OutputsAndWeights : loupe::LayerLens {
  static constexpr const char *name = "outputs_and_weights", *help = "outputs, and weights where there are some";
  using LayerLens::LayerLens;
  void visit(const loupe::Module& module) override {
    each(module, loupe::Watch("forward").measure(LOUPE_MEASURE_EXTREMES),
         [](const loupe::Event& event) { return event.measurement().maximum; });
    each(
        module, loupe::Watch("tick").label("weight"),
        [](const loupe::Event& event) { return static_cast<float>(event.tensor().numel()); }, "Weight Size");
  }
};

/// Warns of outputs above 10.
struct Loud : loupe::LayerLens {
  static constexpr const char *name = "loud", *help = "outputs above 10";
  using LayerLens::LayerLens;
  void visit(const loupe::Module& module) override {
    each(module, loupe::Watch("forward").measure(LOUPE_MEASURE_EXTREMES),
         [](const loupe::Event& event) { return event.measurement().maximum; });
  }
  void report(loupe::Report& report) override {
    LayerLens::report(report);
    for (const loupe::Layer& layer : layers()) {
      const auto largest = layer.source.get("value", loupe::Aggregate::max);
      if (largest && *largest > 10)
        loud_.see({layer.module, *largest, 10, "'" + layer.name + "' is loud", "turn it down"});
    }
    loud_.end_tick(report);
  }

 private:
  loupe::Rule loud_{"loud", 2, 2};
};

/// The distance between the first elements of "student" and "teacher".
struct Distance : loupe::Lens {
  static constexpr const char *name = "distance", *help = "how far apart two modules are";
  Distance(const loupe::Options&, const loupe::Host& host) : host_(host) {}
  void visit(const loupe::Module& module) override {
    if (std::string_view(module.name()) == "student") student_ = module;
    if (std::string_view(module.name()) == "teacher") teacher_ = module;
    if (student_ == nullptr || teacher_ == nullptr || is_watching_) return;
    is_watching_ = true;
    distance_ = watch_together(host_, loupe::Module(student_), loupe::Module(teacher_), "forward",
                               [](const loupe::TensorView& first, const loupe::TensorView& second) {
                                 return loupe::Elements(second).at(0) - loupe::Elements(first).at(0);
                               });
  }
  void report(loupe::Report& report) override {
    report.tag("Distance", {});
    const auto total = distance_.get("value", loupe::Aggregate::sum),
               count = distance_.get("value", loupe::Aggregate::count);
    report.value("Distance", "both", "sum", total.value_or(0));
    report.value("Distance", "both", "count", count.value_or(0));
  }

 private:
  loupe::Host host_;
  const loupe_module *student_ = nullptr, *teacher_ = nullptr;
  bool is_watching_ = false;
  loupe::Source distance_;
};

/// Calls each function of Report.
struct Teller : loupe::Lens {
  static constexpr const char *name = "teller", *help = "all that a report takes";
  static std::vector<loupe::Option> options() { return {{"edges", 3, "how many edges the histogram has"}}; }
  explicit Teller(const loupe::Options& options) : edges_(options.get<std::size_t>("edges")) {}
  void visit(const loupe::Module& module) override { module_ = module; }
  void report(loupe::Report& report) override {
    report.tag("Told", {});
    if (module_ == nullptr) return;
    report.value("Told", loupe::Module(module_), "estimate", 2, 5);
    report.histogram("Told", module_->name, "spread", std::vector<double>(edges_, 0), {1, 2});
  }
  void step(const loupe::Step& step, loupe::Report& report) override {
    loupe::Finding finding;
    finding.rule = "stepped";
    finding.module = loupe::Module(module_);
    finding.message = "step " + std::to_string(step.at.step);
    report.finding(finding);
  }

 private:
  std::size_t edges_;
  const loupe_module* module_ = nullptr;
};

LOUPE_STATIC_PLUGIN(layer_lenses, "layer_lenses", "1.0", LargestOutput, FirstActivation, Columns, OutputsAndWeights,
                    Loud, Distance, Teller);

Bench bench_of(const std::string& lens) {
  return Bench("lenses: [" + lens + "]", {LOUPE_BUILT_PLUGINS}, {&layer_lenses});
}

TEST(LayerLens, ShowsWhatAFunctionMakesOfEachEvent) {
  Bench bench = bench_of("largest_output: {line: [mean, max], range: [min-max]}");
  const auto layer = bench.module("fc1", "Linear");
  bench.forward(layer, tensor({1, 2}, {1, 2}));
  bench.forward(layer, tensor({5, 4}, {1, 2}));
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.value("Largest Output", "fc1", "mean"), 3.5);
  EXPECT_DOUBLE_EQ(bench.value("Largest Output", "fc1", "max"), 5);
  EXPECT_DOUBLE_EQ(bench.range("Largest Output", "fc1", "min").low, 2);
  EXPECT_EQ(bench.tag("Largest Output").description, "the largest element of each output");
  bench.tick();
  EXPECT_FALSE(bench.has_value("Largest Output", "fc1", "mean"));
}

TEST(WatchTogether, ShowsTheTensorsOfTwoModulesOfOneStep) {
  Bench bench = bench_of("distance");
  const auto student = bench.module("student", "Linear"), teacher = bench.module("teacher", "Linear");
  bench.forward(teacher, tensor({100}));  // the student has no output yet
  bench.forward(student, tensor({1}));
  bench.forward(student, tensor({2}));  // the last output counts
  bench.forward(teacher, tensor({10}));
  bench.forward(teacher, tensor({1000}));  // this output of the student was used already
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.value("Distance", "both", "sum"), 8);
  EXPECT_DOUBLE_EQ(bench.value("Distance", "both", "count"), 1);
}

TEST(WatchTogether, LeavesOutTensorsOfAnotherStep) {
  Bench bench = bench_of("distance");
  const auto student = bench.module("student", "Linear"), teacher = bench.module("teacher", "Linear");
  bench.forward(student, tensor({1}));
  bench.step();
  bench.forward(teacher, tensor({10}));
  bench.forward(student, tensor({4}));
  bench.forward(teacher, tensor({6}));
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.value("Distance", "both", "sum"), 2);
  EXPECT_DOUBLE_EQ(bench.value("Distance", "both", "count"), 1);
}

TEST(LayerLens, KeepsQuantilesOnlyIfTheyAreDrawn) {
  Bench bench = bench_of("largest_output: {line: [median], range: [Q1-Q3]}");
  const auto layer = bench.module("fc1", "Linear");
  for (const double value : {1, 2, 3, 4, 50}) bench.forward(layer, tensor({value}));
  bench.tick();
  EXPECT_NEAR(bench.value("Largest Output", "fc1", "median"), 3, 0.1);
  EXPECT_NEAR(bench.range("Largest Output", "fc1", "Q1").high, 4, 0.1);
}

TEST(LayerLens, CountsEventsThatAreNotFiniteApart) {
  Bench bench = bench_of("largest_output");
  const auto layer = bench.module("fc1", "Linear");
  bench.forward(layer, tensor({1}));
  bench.forward(layer, tensor({3, std::numeric_limits<double>::quiet_NaN()}));
  bench.forward(layer, tensor({7, std::numeric_limits<double>::infinity()}));
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.value("Largest Output", "fc1", "mean"), 1);
  EXPECT_DOUBLE_EQ(bench.value("Non-Finite Values", "fc1", "Largest Output NaN"), 1);
  EXPECT_DOUBLE_EQ(bench.value("Non-Finite Values", "fc1", "Largest Output Inf"), 1);
}

TEST(LayerLens, LooksAtWhatIncludeAndExcludeSay) {
  Bench bench = bench_of("first_activation: {include: [+Linear], exclude: [fc2], scale: 2}");
  for (const char* name : {"fc1", "fc2"}) bench.forward(bench.module(name, "Linear"), tensor({3}));
  const auto relu = bench.module("relu", "ReLU");
  bench.forward(relu, tensor({4}));
  bench.forward(relu, tensor({-9}));
  bench.tick();
  EXPECT_EQ(bench.layers("First Activation"), (std::vector<std::string>{"fc1", "relu"}));
  EXPECT_DOUBLE_EQ(bench.value("First Activation", "relu", "mean"), 8);
  EXPECT_EQ(bench.tag("First Activation").unit, "V");
}

TEST(LayerLens, WatchesOnlyTrainingByDefault) {
  for (const bool both : {false, true}) {
    Bench bench = bench_of(both ? "largest_output: {record_eval: true}" : "largest_output");
    const auto layer = bench.module("fc1", "Linear");
    bench.forward(layer, tensor({1}));
    bench.forward(layer, tensor({3}), lt::evaluation_pass);
    bench.tick();
    EXPECT_DOUBLE_EQ(bench.value("Largest Output", "fc1", "mean"), both ? 2 : 1);
  }
}

TEST(LayerLens, ShowsSeveralNumbersOfAnEventAndSeveralPlots) {
  Bench bench = bench_of("columns: {range: none}");
  const auto layer = bench.module("fc1", "Linear", {{"bias", {4}}});
  bench.set(layer, "bias", tensor({0}, {4}));
  bench.forward(layer, tensor({1, 2, 3, 4}, {2, 2}));
  bench.forward(layer, tensor({3, 6}, {1, 2}));
  bench.forward(layer, tensor({}, {0, 2}));
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.value("Columns", "fc1", "column 0 mean"), 2);
  EXPECT_DOUBLE_EQ(bench.value("Columns", "fc1", "column 1 mean"), 4);
  EXPECT_DOUBLE_EQ(bench.value("Columns", "fc1", "rows mean"), 1.5);
  EXPECT_DOUBLE_EQ(bench.value("Bias Size", "fc1.bias", "mean"), 4);
}

TEST(LayerLens, ChoosesTheModulesOfEachStreamSeparately) {
  Bench bench = bench_of("outputs_and_weights: {range: none}");
  const auto linear = bench.module("fc1", "Linear", {{"weight", {2}}}), relu = bench.module("relu", "ReLU");
  bench.set(linear, "weight", tensor({0}, {2}));
  bench.forward(linear, tensor({1}));
  bench.forward(relu, tensor({3}));
  bench.tick();
  EXPECT_DOUBLE_EQ(bench.value("Outputs And Weights", "fc1", "mean"), 1);
  EXPECT_DOUBLE_EQ(bench.value("Outputs And Weights", "relu", "mean"), 3);
  EXPECT_DOUBLE_EQ(bench.value("Weight Size", "fc1", "mean"), 2);
  EXPECT_FALSE(bench.is_quarantined("outputs_and_weights"));
}

TEST(LayerLens, ForgetsModulesThatAreDetached) {
  Bench bench = bench_of("largest_output");
  const auto gone = bench.module("fc1", "Linear"), stays = bench.module("fc2", "Linear");
  bench.forward(gone, tensor({1}));
  bench.forget(gone);
  bench.forward(stays, tensor({2}));
  bench.tick();
  bench.forward(stays, tensor({4}));
  bench.tick();
  EXPECT_EQ(bench.layers("Largest Output"), (std::vector<std::string>{"fc2"}));
  EXPECT_DOUBLE_EQ(bench.value("Largest Output", "fc2", "mean"), 4);
}

TEST(Report, AcceptsAModuleFlagsAndAHistogram) {
  Bench bench = bench_of("teller: {edges: 3}");
  bench.module("fc1", "Linear");
  bench.step();
  bench.tick();
  EXPECT_TRUE(bench.is_quarantined("teller"));  // its edges do not ascend
  EXPECT_DOUBLE_EQ(bench.value("Told", "fc1", "estimate"), 2);
  ASSERT_EQ(bench.findings().size(), 1U);
  EXPECT_EQ(bench.findings()[0].layer, "fc1");
  Bench wrong = bench_of("teller: {edges: 2}");
  wrong.module("fc1", "Linear");
  wrong.tick();
  bool is_told = false;
  for (const std::string& line : wrong.log())
    is_told = is_told || line.find("2 edges and 2 counts; give it one more edge than counts") != std::string::npos;
  EXPECT_TRUE(is_told);
}

/// An epoch of a bench with two layers, whose outputs are `a` and `b`.
void run_epoch(Bench& bench, lt::Module first, double a, lt::Module second, double b) {
  bench.forward(first, tensor({a}));
  bench.forward(second, tensor({b}));
  bench.tick();
}

TEST(Rule, TellsTheWorstLayerOnceItsPatienceIsOverAndWhenItIsGone) {
  Bench bench = bench_of("loud");
  const auto a = bench.module("a", "Linear"), b = bench.module("b", "Linear");
  run_epoch(bench, a, 20, b, 30);
  EXPECT_TRUE(bench.findings().empty());
  run_epoch(bench, a, 20, b, 30);
  ASSERT_EQ(bench.findings().size(), 1U);
  const lt::Finding raised = bench.findings()[0];
  EXPECT_EQ(raised.rule, "loud");
  EXPECT_EQ(raised.layer, "b");
  EXPECT_EQ(raised.message, "'b' is loud; also one other layer");
  EXPECT_EQ(raised.advice, "turn it down");
  EXPECT_EQ(raised.state, uint32_t{LOUPE_FINDING_RAISED});
  EXPECT_EQ(raised.value, 30);
  EXPECT_EQ(raised.threshold, 10);
  run_epoch(bench, a, 1, b, 1);
  EXPECT_EQ(bench.findings().size(), 1U);
  run_epoch(bench, a, 1, b, 1);
  ASSERT_EQ(bench.findings().size(), 2U);
  EXPECT_EQ(bench.findings()[1].state, uint32_t{LOUPE_FINDING_GONE});
  run_epoch(bench, a, 20, b, 1);  // the patience starts again
  EXPECT_EQ(bench.findings().size(), 2U);
}

TEST(Rule, StaysWithALayerWhileItBreaksTheRuleAndTellsWhatGrowsMuchWorse) {
  Bench bench = bench_of("loud");
  const auto a = bench.module("a", "Linear"), b = bench.module("b", "Linear");
  for (int i = 0; i < 2; ++i) run_epoch(bench, a, 20, b, 1);
  ASSERT_EQ(bench.findings().size(), 1U);
  run_epoch(bench, a, 20, b, 500);  // now the worst layer, but the finding is about 'a'
  EXPECT_EQ(bench.findings().size(), 1U);
  run_epoch(bench, a, 900, b, 500);
  ASSERT_EQ(bench.findings().size(), 2U);
  EXPECT_EQ(bench.findings()[1].state, uint32_t{LOUPE_FINDING_CHANGED});
  EXPECT_EQ(bench.findings()[1].layer, "a");
  run_epoch(bench, a, 1, b, 500);
  ASSERT_EQ(bench.findings().size(), 4U);
  EXPECT_EQ(bench.findings()[2].state, uint32_t{LOUPE_FINDING_GONE});
  EXPECT_EQ(bench.findings()[2].layer, "a");
  EXPECT_EQ(bench.findings()[3].state, uint32_t{LOUPE_FINDING_RAISED});
  EXPECT_EQ(bench.findings()[3].layer, "b");
}

}  // namespace
