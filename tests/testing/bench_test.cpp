// Tests of loupe/testing.h, used as by the author of a plugin.

#include <gtest/gtest.h>
#include <loupe/plugin.h>
#include <loupe/testing.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>

#include "paths.h"

namespace {

namespace lt = loupe::testing;
using lt::Bench;
using lt::tensor;

/// The mean of each event's elements, read from the tensor itself.
class TensorMean : public loupe::Preprocessor {
 public:
  static constexpr const char* name = "tensor_mean";
  static constexpr const char* help = "the mean of each tensor";
  static std::vector<loupe::Option> options() { return {{"scale", 1.0, "what it is multiplied by"}}; }
  TensorMean(const loupe::Options& options, const loupe::Host& host)
      : scale_(options.get<double>("scale")), host_(host) {}

  loupe::Request request() const override {
    loupe::Request request;
    request.wants_tensor = true;
    return request;
  }
  void process(const loupe::Event& event) override {
    double sum = 0;
    const auto values = host_.copy(*event.tensor().raw());
    for (const double value : values) sum += value;
    mean_.push(scale_ * sum / static_cast<double>(values.size()));
    inputs_.push(static_cast<double>(event.input_count()));
  }

 private:
  double scale_;
  loupe::Host host_;
  loupe::Series &mean_ = add_series("mean"), &inputs_ = add_series("inputs");
};

/// 1 for an event in training, or with gradients; 0 for other events.
class TrainingCount : public loupe::Preprocessor {
 public:
  static constexpr const char* name = "training_count";
  static constexpr const char* help = "the share of events in training";
  explicit TrainingCount(const loupe::Options&) {}

  loupe::Request request() const override { return {}; }
  void process(const loupe::Event& event) override {
    training_.push(event.training());
    grad_.push(event.grad_enabled());
  }

 private:
  loupe::Series &training_ = add_series("training"), &grad_ = add_series("grad");
};

/// Shows the data that a lens gets, as values.
class Told : public loupe::Lens {
 public:
  static constexpr const char* name = "told";
  static constexpr const char* help = "what a lens is told";
  static std::vector<loupe::Option> options() { return {{"fail", false, "fail in the report"}}; }
  Told(const loupe::Options& options, const loupe::Host& host) : fails_(options.get<bool>("fail")), host_(host) {}

  void visit(const loupe::Module& module) override {
    last_ = module.raw();
    family_ = module.family();
    if (const auto parent = module.parent())
      host_.info(std::string(module.name()) + " is in " + parent->name() + " of " +
                 std::to_string(module.raw()->model->module_count));
  }
  void forget(const loupe::Module&) override { last_ = nullptr; }
  void report(loupe::Report& report) override {
    if (fails_) throw loupe::Error("it fails because it was asked to");
    loupe::TagStyle style;
    style.log_y = style.big = true;
    style.unit = "s";
    style.advice = "Look closer.";
    report.tag("Told", style);
    report.value("Told", "family", family_);
    report.value("Told", "epoch", report.epoch());
    report.value("Told", "step", static_cast<double>(report.tick().at.step));
    report.value("Told", "has module", last_ != nullptr);
    if (report.tick().optimizer_count > 0)
      report.value("Told", "rate", *loupe::learning_rate_of(*report.tick().optimizers[0]->groups[0]));
    report.range("Told", "low", "high", -1, 1);
    const double edges[] = {0, 1, INFINITY}, counts[] = {3, 4};
    loupe_histogram histogram{.struct_size = sizeof(loupe_histogram),
                              .tag = "Told",
                              .line = "all",
                              .edges = edges,
                              .counts = counts,
                              .bin_count = 2};
    report.histogram(histogram);
    host_.info("reported");
  }
  void step(const loupe_step& step, loupe::Report& report) override {
    if (last_ == nullptr || step.at.step != 2) return;
    loupe::Finding finding{"second_step", LOUPE_SEVERITY_INFO, "The second step came."};
    finding.module = last_;
    if (step.optimizer != nullptr) finding.value = loupe::learning_rate_of(*step.optimizer->groups[0]);
    report.finding(finding);
  }

 private:
  bool fails_;
  loupe::Host host_;
  const loupe_module* last_ = nullptr;
  uint32_t family_ = 99;
};

/// Counts all steps, and the measured steps.
class Counted : public loupe::Lens {
 public:
  static constexpr const char* name = "counted";
  static constexpr const char* help = "counts steps";
  explicit Counted(const loupe::Options&) {}

  void visit(const loupe::Module&) override {}
  void step(const loupe::Step& step, loupe::Report&) override {
    ++all_;
    measured_ += loupe::is_measured(step) ? 1 : 0;
  }
  void report(loupe::Report& report) override {
    loupe::TagStyle style;
    style.big = true;
    report.tag("Counted", style);
    report.value("Counted", "all", all_);
    report.value("Counted", "measured", measured_);
  }

 private:
  int all_ = 0, measured_ = 0;
};

LOUPE_STATIC_PLUGIN(own_plugin, "own", "1.0", TensorMean, TrainingCount, Told, Counted);

/// A lens of `gatherer` and `preprocessor` that shows the mean of each series in a tag named after the series.
std::string piped(const std::string& gatherer, const std::string& preprocessor, const std::string& more = "") {
  return "lenses: [pipeline: {gather: " + gatherer + ", preprocess: " + preprocessor +
         ", tag: \"{series}\", range: none" + more + "}]";
}

/// Whether the log has a line with this text.
bool has_line(const Bench& bench, const std::string& part) {
  for (const std::string& line : bench.log()) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(Bench, RunsABuiltInLensOnTheTestsTensors) {
  Bench bench("lenses: [output_norm]");
  const auto layer = bench.module("fc1", "ReLU");
  bench.forward(layer, tensor({3, 4, 0, 0, 6, 8, 0, 0}, {2, 4}));
  bench.step();
  bench.tick();
  EXPECT_EQ(bench.layers("Output Norm"), std::vector<std::string>{"fc1"});
  EXPECT_NEAR(bench.value("Output Norm", "fc1", "mean"), 7.5, 1e-6);
  EXPECT_NEAR(bench.range("Output Norm", "fc1", "min").high, 7.5, 1e-6);
  EXPECT_FALSE(bench.tag("Output Norm").big);
}

/// The user is warned about equal names; the lens is not disabled.
TEST(Bench, TakesTheNumbersOfModulesWithOneName) {
  Bench bench("lenses: [output_norm]");
  for (const float value : {3.0F, 4.0F}) bench.forward(bench.module("fc1", "ReLU"), tensor({value}, {1, 1}));
  bench.tick();
  EXPECT_EQ(bench.value("Output Norm", "fc1", "mean"), 4);
  for (const std::string& line : bench.log()) EXPECT_EQ(line.find("output_norm"), std::string::npos) << line;
}

TEST(Bench, RunsAPluginThatIsLinkedIntoTheTest) {
  Bench bench(piped("forward", "tensor_mean", ", preprocessor_options: {scale: 10}"), {}, {&own_plugin});
  const auto layer = bench.module("fc1", "Linear");
  bench.forward(layer, {tensor({1}), tensor({2})}, {tensor({1, 2}), tensor({5})});
  bench.tick();
  EXPECT_EQ(bench.value("Mean", "fc1", "mean"), 15);
  EXPECT_EQ(bench.value("Inputs", "fc1", "mean"), 2);
}

TEST(Bench, GivesALensEachStepAndWhetherItWasMeasured) {
  Bench bench("attach: {every: 4}\nlenses: [counted]\n", {}, {&own_plugin});
  for (int i = 0; i < 16; ++i) bench.step();
  bench.tick();
  EXPECT_EQ(bench.value("Counted", "", "all"), 16);
  EXPECT_EQ(bench.value("Counted", "", "measured"), 4);
}

TEST(Bench, LoadsAPluginByItsFile) {
  const std::string file = LOUPE_BUILT_PLUGINS + "/output_norm.so";
  Bench bench("lenses: [output_norm]", {file});
  EXPECT_FALSE(bench.is_quarantined("output_norm"));
  EXPECT_NE(message_of([] { Bench("lenses: []", {"/nowhere/x.so"}); }).find("/nowhere/x.so"), std::string::npos);
}

TEST(Bench, ReadsElementsWithThePrecisionOfTheType) {
  for (const lt::Type type : {lt::Type::float32, lt::Type::float64, lt::Type::int8, lt::Type::int16, lt::Type::int32,
                              lt::Type::int64, lt::Type::uint8, lt::Type::float16, lt::Type::bfloat16}) {
    Bench bench(piped("forward", "tensor_mean"), {}, {&own_plugin});
    bench.forward(bench.module("a", "Linear"), tensor({1, 2, 6}, {3, 1}, type));
    bench.tick();
    EXPECT_EQ(bench.value("Mean", "a", "mean"), 3) << static_cast<int>(type);
  }
  EXPECT_THROW(Bench("lenses: []").forward({}, tensor({1})), std::invalid_argument);
  EXPECT_NE(message_of([] { tensor({1, 2}, {2, 2}); }).find("4 elements"), std::string::npos);
  Bench bench("lenses: []");
  EXPECT_THROW(bench.forward(bench.module("a", "Linear"), tensor({0.5}, {}, lt::Type::int32)), std::invalid_argument);
}

/// Stores the value as an element of this type; returns the value that is read back.
double stored(double value, lt::Type type) {
  Bench bench(piped("forward", "tensor_mean"), {}, {&own_plugin});
  bench.forward(bench.module("a", "Linear"), tensor({value}, {}, type));
  bench.tick();
  return bench.value("Mean", "a", "mean");
}

TEST(Bench, RoundsToHalfPrecisionAsProcessorsDo) {
  EXPECT_EQ(stored(0.1, lt::Type::float16), 0.0999755859375);
  EXPECT_EQ(stored(2049, lt::Type::float16), 2048);  // half way between two values: rounds to the even one
  EXPECT_EQ(stored(2051, lt::Type::float16), 2052);
  EXPECT_EQ(stored(65519, lt::Type::float16), 65504);
  EXPECT_EQ(stored(3e-8, lt::Type::float16), std::ldexp(1, -24));
  EXPECT_EQ(stored(std::ldexp(1023.9, -24), lt::Type::float16),
            std::ldexp(1, -14));  // rounds up to the smallest normal number
  EXPECT_EQ(stored(-0.1, lt::Type::bfloat16), -0.10009765625);
  EXPECT_EQ(stored(257, lt::Type::bfloat16), 256);
  EXPECT_EQ(stored(259, lt::Type::bfloat16), 260);
  Bench bench(piped("forward", "tensor_mean"), {}, {&own_plugin});
  const auto layer = bench.module("a", "Linear");
  for (const lt::Type type : {lt::Type::float16, lt::Type::bfloat16}) {
    for (const double value : {1e39, -1e39, std::nan("")}) bench.forward(layer, tensor({value}, {}, type));
  }
  bench.tick();
  EXPECT_EQ(bench.value("Non-Finite Values", "a", "Mean Inf"), 4);
  EXPECT_EQ(bench.value("Non-Finite Values", "a", "Mean NaN"), 2);
}

TEST(Bench, FeedsTensorsThatLieInMemoryAsStridesSay) {
  Bench bench(piped("forward", "tensor_mean"), {}, {&own_plugin});
  const lt::Tensor plain = tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  for (const auto& strides : {std::vector<std::int64_t>{1, 2}, {3, 1}, {10, 3}}) {
    bench.forward(bench.module("a", "Linear"), lt::strided(plain, strides));
    bench.tick();
    EXPECT_EQ(bench.value("Mean", "a", "mean"), 3.5);
  }
  bench.forward(bench.module("a", "Linear"), lt::strided(tensor({7, 7, 7, 7}, {2, 2}), {0, 0}));
  bench.tick();
  EXPECT_EQ(bench.value("Mean", "a", "mean"), 7);
  EXPECT_NE(message_of([&] { lt::strided(plain, {1}); }).find("[2, 3]"), std::string::npos);
  EXPECT_THROW(lt::strided(plain, {-1, 1}), std::invalid_argument);
}

TEST(Bench, RunsAPassInTrainingOrEvaluation) {
  Bench bench(piped("forward", "training_count"), {}, {&own_plugin});
  const auto layer = bench.module("fc1", "Linear");
  bench.forward(layer, tensor({1}), lt::evaluation_pass);
  bench.forward(layer, tensor({1}), {true, false});
  bench.tick();
  EXPECT_EQ(bench.value("Training", "fc1", "mean"), 0.5);
  EXPECT_EQ(bench.value("Grad", "fc1", "mean"), 0);
}

TEST(Bench, FeedsGradientsOfParametersOutputsAndInputs) {
  const std::vector<std::pair<std::string, double>> expected = {
      {"output_gradient", 1}, {"input_gradient", 2}, {"parameter_gradient", 3}, {"optimizer_step", 4}};
  for (const auto& [gatherer, mean] : expected) {
    const bool of_parameter = gatherer == "parameter_gradient" || gatherer == "optimizer_step";
    Bench bench(piped(gatherer, "tensor_mean", of_parameter ? ", parameters: [weight]" : ""), {}, {&own_plugin});
    const auto layer = bench.module("fc1", "Linear", {{"weight", {2}}});
    bench.forward(layer, {tensor({9, 9})}, {tensor({9, 9})});
    bench.output_gradient(layer, tensor({1, 1}));
    bench.input_gradient(layer, tensor({2, 2}));
    bench.gradient(layer, "weight", tensor({3, 3}));
    bench.set(layer, "weight", tensor({4, 4}));
    bench.step();
    bench.tick();
    EXPECT_EQ(bench.value("Mean", "fc1", "mean"), mean) << gatherer;
  }
}

TEST(Bench, RefusesAGradientOfOtherSizesOrOfNoParameter) {
  Bench bench("lenses: []");
  const auto layer = bench.module("fc1", "Linear", {{"weight", {2}}});
  EXPECT_NE(message_of([&] { bench.gradient(layer, "weight", tensor({1})); }).find("sizes [2]"), std::string::npos);
  EXPECT_NE(message_of([&] { bench.gradient(layer, "bias", tensor({1})); }).find("no parameter 'bias'"),
            std::string::npos);
}

TEST(Bench, FeedsAnAttributeAtTheForward) {
  Bench bench(piped("attribute", "tensor_mean", ", parameters: [gate]"), {}, {&own_plugin});
  const auto layer = bench.module("fc1", "Linear", {{"gate", {}, 0, /*is_attribute=*/true}});
  bench.set(layer, "gate", tensor({5}));
  bench.forward(layer, tensor({1}));
  bench.tick();
  EXPECT_EQ(bench.value("Mean", "fc1", "mean"), 5);
}

TEST(Bench, AcceptsAnyFlagOfADraftOnAParameter) {
  Bench bench(piped("tick", "tensor_mean", ", parameters: [gate]"), {}, {&own_plugin});
  const auto layer = bench.module("fc1", "Linear", {{"gate", {1}, 1u << 31}});
  bench.set(layer, "gate", tensor({5}));
  bench.tick();
  EXPECT_EQ(bench.value("Mean", "fc1", "mean"), 5);
}

TEST(Bench, CountsChangesFromAParametersFirstValue) {
  Bench bench("lenses: [parameter_difference]");
  const auto layer = bench.module("fc1", "Linear", {{"weight", {2}}});
  bench.set(layer, "weight", tensor({1, 1}));
  bench.set(layer, "weight", tensor({4, 5}));
  bench.step();
  bench.tick();
  EXPECT_NEAR(bench.value("Weight Update Norm", "fc1", "mean"), 5, 1e-6);
}

TEST(Bench, GivesALensTicksStepsOptimizersAndModules) {
  Bench bench("lenses: [told]", {}, {&own_plugin});
  const auto layer = bench.module("act", "ReLU");
  bench.optimizer("Adam", 0.25);
  bench.step();
  bench.step();
  bench.tick(7);
  EXPECT_EQ(bench.value("Told", "", "family"), LOUPE_FAMILY_ACTIVATION);
  EXPECT_EQ(bench.value("Told", "", "epoch"), 7);
  EXPECT_EQ(bench.value("Told", "", "step"), 2);
  EXPECT_EQ(bench.value("Told", "", "rate"), 0.25);
  EXPECT_EQ(bench.value("Told", "", "has module"), 1);
  ASSERT_EQ(bench.findings().size(), 1u);
  EXPECT_EQ(bench.findings()[0].rule, "second_step");
  EXPECT_EQ(bench.findings()[0].layer, "act");
  EXPECT_EQ(bench.findings()[0].source, "the lens 'told'");
  EXPECT_EQ(bench.findings()[0].value, 0.25);
  EXPECT_EQ(bench.range("Told", "Told", "low").high, 1);
  EXPECT_EQ(bench.histogram("Told", "", "all").counts, (std::vector<double>{3, 4}));
  EXPECT_EQ(bench.tag("Told").unit, "s");
  EXPECT_EQ(bench.tag("Told").advice, "Look closer.");
  EXPECT_TRUE(bench.tag("Told").log_y);
  EXPECT_TRUE(has_line(bench, "the lens 'told': reported"));
  bench.forget(layer);
  bench.tick();
  bench.tick();
  EXPECT_EQ(bench.value("Told", "", "has module"), 0);
  EXPECT_THROW(bench.forward(layer, tensor({1})), std::invalid_argument);
}

TEST(Bench, FindsTheParentOfAModuleByItsPath) {
  Bench bench("lenses: [told]", {}, {&own_plugin});
  bench.module("net", "Net", {}, LOUPE_MODULE_ROOT);
  bench.module("block", "Block", {}, 0);
  bench.module("block.fc", "Linear");
  bench.module("act", "ReLU");
  EXPECT_TRUE(has_line(bench, "block is in net of 2"));
  EXPECT_TRUE(has_line(bench, "block.fc is in block of 3"));
  EXPECT_TRUE(has_line(bench, "act is in net of 4"));
  EXPECT_FALSE(has_line(bench, "net is in"));
}

TEST(Bench, ListsShownValuesAndTheLogIfAValueIsMissing) {
  Bench bench("lenses: [told: {fail: true}, output_norm]", {}, {&own_plugin});
  bench.forward(bench.module("fc1", "ReLU"), tensor({1}, {1, 1}));
  bench.tick();
  EXPECT_TRUE(bench.is_quarantined("told"));
  EXPECT_FALSE(bench.is_quarantined("output_norm"));
  EXPECT_THROW(bench.value("Told", "", "epoch"), std::out_of_range);
  const std::string message = message_of([&] { bench.value("Told", "", "epoch"); });
  EXPECT_NE(message.find("'Output Norm', 'fc1', 'mean'"), std::string::npos) << message;
  EXPECT_NE(message.find("it fails because it was asked to"), std::string::npos) << message;
}

TEST(Bench, ThrowsAComponentsFailureIfTheYamlSaysStop) {
  Bench bench("on_error: stop\nlenses: [told: {fail: true}]", {}, {&own_plugin});
  EXPECT_NE(message_of([&] { bench.tick(); }).find("it was asked to"), std::string::npos);
}

TEST(Bench, RefusesAWrongConfigurationWithTheLine) {
  EXPECT_THROW(Bench("lenses: [told: {fial: true}]", {}, {&own_plugin}), std::runtime_error);
  const std::string message = message_of([] { Bench("lenses: [told: {fial: true}]", {}, {&own_plugin}); });
  EXPECT_NE(message.find("test.yaml:1:"), std::string::npos) << message;
  EXPECT_NE(message.find("fail"), std::string::npos) << message;
}

TEST(Bench, PassesTheTestsValuesToAVisualizer) {
  const std::filesystem::path folder = std::filesystem::path(LOUPE_TEST_FOLDER) / "visualizer";
  std::filesystem::remove_all(folder);
  Bench bench("run: {dir: " + folder.string() + "}\nvisualizers: [csv]");
  lt::Tag tag{"Shown"};
  tag.title = "What Is Shown";
  bench.show(tag);
  bench.show("Shown", "fc1", "mean", 1.5);
  bench.show("Shown", "fc1", lt::Range{"min", "max", 1, 2});
  bench.show("Shown", "fc1", "all", lt::Histogram{{0, 1}, {5}});
  lt::Finding finding{"too_large", "It is too large."};
  finding.value = 3;
  bench.show(finding);
  bench.tick();
  EXPECT_EQ(bench.value("Shown", "fc1", "mean"), 1.5);
  EXPECT_EQ(bench.tag("Shown").title, "What Is Shown");
  EXPECT_EQ(bench.findings().at(0).message, "It is too large.");
  EXPECT_EQ(bench.findings()[0].value, 3);
  EXPECT_FALSE(bench.findings()[0].threshold);
  bench.tick();
  EXPECT_FALSE(bench.has_value("Shown", "fc1", "mean"));
  bench.end();
  EXPECT_THROW(bench.tick(), std::logic_error);
  std::string written;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    written += text.str();
  }
  EXPECT_NE(written.find("Shown"), std::string::npos) << written;
  EXPECT_NE(written.find("1.5"), std::string::npos) << written;
}

TEST(Bench, KeepsTwoBenchesApartExceptForTheLog) {
  Bench one("lenses: [told]", {}, {&own_plugin});
  {
    Bench two("lenses: [told]", {}, {&own_plugin});
    two.tick(5);
    EXPECT_EQ(two.value("Told", "", "epoch"), 5);
  }
  EXPECT_TRUE(one.tags().empty());
  one.tick(3);
  EXPECT_EQ(one.value("Told", "", "epoch"), 3);
}

}  // namespace
