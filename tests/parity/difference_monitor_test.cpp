#include <gtest/gtest.h>
#include <loupe/difference_monitor.h>
#include <loupe/inspector.h>
#include <torch/torch.h>

#include <cmath>
#include <string>

namespace loupe {
namespace {

torch::nn::BatchNorm1d norm_of_two() {
  return torch::nn::BatchNorm1d(torch::nn::BatchNorm1dOptions(2).momentum(0.5));
}
/// A batch with the mean (6, 8).
at::Tensor batch() {
  return torch::tensor({{3.0F, 4.0F}, {9.0F, 12.0F}});
}
double first(const at::Tensor& tensor) {
  return tensor.reshape(-1)[0].item<double>();
}

TEST(DifferenceMonitor, SeesTheRunningMeanOfABatchNormChangeInPlace) {
  auto norm = norm_of_two();
  DifferenceMonitor monitor(std::make_shared<reducers::Passthrough>(), "running_mean", *norm);
  norm->forward(batch());
  EXPECT_TRUE(at::allclose(monitor.reducer().latest(), torch::tensor({3.0F, 4.0F})));
  norm->forward(batch());
  EXPECT_TRUE(at::allclose(monitor.reducer().latest(), torch::tensor({1.5F, 2.0F})));
}

TEST(DifferenceMonitor, LooksOnlyInTheModesAskedFor) {
  auto norm = norm_of_two();
  DifferenceMonitor training(std::make_shared<reducers::Passthrough>(9), "running_mean", *norm, {.eval_update = false});
  DifferenceMonitor evaluation(std::make_shared<reducers::Passthrough>(9), "running_mean", *norm,
                               {.train_update = false});
  norm->forward(batch());
  norm->eval();
  norm->forward(batch());
  norm->forward(batch());
  EXPECT_EQ(training.reducer().size(), 1U);
  EXPECT_EQ(evaluation.reducer().size(), 2U);
  EXPECT_EQ(evaluation.reducer().latest().abs().sum().item<double>(), 0);
}

TEST(DifferenceMonitor, TakesFunctionsForFilterMapAndOp) {
  auto norm = norm_of_two();
  const auto passthrough = [] { return std::make_shared<reducers::Passthrough>(); };
  DifferenceMonitor op(passthrough(), "running_mean", *norm,
                       {.op = [](const at::Tensor& after, const at::Tensor& before) { return after + 10 - before; }});
  DifferenceMonitor map(passthrough(), "running_mean", *norm,
                        {.map = [](const at::Tensor& after, const at::Tensor& before) {
                          return std::vector<at::Tensor>{(after - before).norm()};
                        }});
  DifferenceMonitor filtered(passthrough(), "running_mean", *norm,
                             {.filter = [](const at::Tensor&, const at::Tensor&) { return false; }});
  norm->forward(batch());
  EXPECT_FLOAT_EQ(first(op.reducer().latest()), 13);
  EXPECT_FLOAT_EQ(first(map.reducer().latest()), 5);
  EXPECT_TRUE(filtered.reducer().empty());
}

TEST(DifferenceMonitor, CountsAMissingSideAsZeros) {
  torch::nn::Linear linear(1, 1);
  int reads = 0;
  DifferenceMonitor monitor(std::make_shared<reducers::Passthrough>(), "state", *linear, {},
                            [&] { return ++reads % 2 == 0 ? torch::tensor({4.0F}) : at::Tensor(); });
  linear->forward(torch::ones({1, 1}));
  EXPECT_FLOAT_EQ(first(monitor.reducer().latest()), 4);
  ++reads;
  linear->forward(torch::ones({1, 1}));
  EXPECT_FLOAT_EQ(first(monitor.reducer().latest()), -4);
}

TEST(DifferenceMonitor, ReachesAnAttributeOfAChild) {
  torch::nn::TransformerEncoderLayer layer(torch::nn::TransformerEncoderLayerOptions(4, 1).dropout(0));
  DifferenceMonitor monitor(std::make_shared<reducers::Passthrough>(), "linear1.weight", *layer);
  layer->forward(torch::ones({1, 1, 4}));
  EXPECT_EQ(monitor.reducer().size(), 1U);
  EXPECT_EQ(monitor.reducer().latest().abs().max().item<double>(), 0);
  EXPECT_THROW(DifferenceMonitor(std::make_shared<reducers::Sum>(), "linear1.wait", *layer), std::invalid_argument);
}

TEST(DifferenceMonitor, MovesToAnotherModuleAndIsCleared) {
  auto one = norm_of_two(), other = norm_of_two();
  DifferenceMonitor monitor(std::make_shared<reducers::Sum>(), "running_mean");
  EXPECT_FALSE(monitor.has_module());
  monitor.set_module(*one);
  one->forward(batch());
  monitor.set_module(*other);
  one->forward(batch());
  EXPECT_FLOAT_EQ(first(monitor.reducer().latest()), 3);
  other->forward(batch());
  EXPECT_FLOAT_EQ(first(monitor.reducer().latest()), 6);
  monitor.clear();
  EXPECT_TRUE(monitor.reducer().empty());
  monitor.unset_module();
  EXPECT_EQ(Inspector::redirected_calls(), 0U);
}

TEST(DifferenceMonitor, PartialConstructionKeepsAllItWasGivenAndSharesNoReducer) {
  auto one = norm_of_two(), other = norm_of_two();
  const auto make = DifferenceMonitor::partial(
      [] { return std::make_shared<reducers::Sum>(); },
      {.op = [](const at::Tensor& after, const at::Tensor& before) { return (after - before) * 100; }});
  DifferenceMonitor first_monitor = make("running_mean", *one), second_monitor = make("running_mean", *other);
  one->forward(batch());
  EXPECT_FLOAT_EQ(first(first_monitor.reducer().latest()), 300);
  EXPECT_TRUE(second_monitor.reducer().empty());
}

TEST(DifferenceMonitor, PrependedIsCalledBeforeThoseThatWatchAlready) {
  auto norm = norm_of_two();
  std::string order;
  const auto monitor = [&](const char* letter, bool prepend) {
    DifferenceSettings settings;
    settings.prepend = prepend;
    settings.filter = [&order, letter](const at::Tensor&, const at::Tensor&) {
      order += letter;
      return false;
    };
    return DifferenceMonitor(std::make_shared<reducers::Sum>(), "running_mean", *norm, settings);
  };
  const auto a = monitor("a", false), b = monitor("b", false), c = monitor("c", true);
  norm->forward(batch());
  EXPECT_EQ(order, "cab");
}

void push(Reducer& reducer, std::initializer_list<float> values) {
  for (const float value : values) reducer.push({torch::tensor({value})});
}

TEST(Reducers, FoldAsTheirNamesSay) {
  reducers::ExponentialAverage exponential(0.25);
  reducers::CumulativeAverage cumulative;
  reducers::Sum sum;
  reducers::Minimum minimum;
  reducers::Maximum maximum;
  for (Reducer* reducer : std::initializer_list<Reducer*>{&exponential, &cumulative, &sum, &minimum, &maximum}) {
    push(*reducer, {8, 4, 0});
  }
  EXPECT_FLOAT_EQ(first(exponential.latest()), 5.25);  // after values 8, 7 and 5.25
  EXPECT_FLOAT_EQ(first(cumulative.latest()), 4);
  EXPECT_FLOAT_EQ(first(sum.latest()), 12);
  EXPECT_FLOAT_EQ(first(minimum.latest()), 0);
  EXPECT_FLOAT_EQ(first(maximum.latest()), 8);
  cumulative.clear();
  push(cumulative, {6});
  EXPECT_FLOAT_EQ(first(cumulative.latest()), 6);
}

TEST(Reducers, PassthroughKeepsItsDurationAndInterpolates) {
  reducers::Passthrough reducer(0.2, 0.1);
  push(reducer, {100, 1, 3, 7});
  EXPECT_EQ(reducer.size(), 3U);
  EXPECT_TRUE(at::equal(reducer.dump(), torch::tensor({{7.0F}, {3.0F}, {1.0F}})));
  EXPECT_FLOAT_EQ(first(reducer.view(0)), 7);
  EXPECT_FLOAT_EQ(first(reducer.view(0.025)), 6);
  EXPECT_FLOAT_EQ(first(reducer.view(0.2)), 1);
  EXPECT_THROW(reducer.view(0.21), std::out_of_range);
  reducer.peek().zero_();
  EXPECT_FLOAT_EQ(first(reducer.latest()), 7);
}

TEST(Reducers, EventTellsTheTimeSinceTheCriterionHeld) {
  reducers::Event reducer([](const at::Tensor& value) { return value > 2; }, 1, 0.5);
  push(reducer, {0});
  EXPECT_TRUE(std::isinf(first(reducer.latest())));
  push(reducer, {5, 1, 1});
  EXPECT_FLOAT_EQ(first(reducer.latest()), 1);
  EXPECT_FLOAT_EQ(first(reducer.view(0.25)), 0.75);
}

double lens_value(const std::string& options, const std::string& line) {
  auto inspector = Inspector::from_text("loupe: 1\nlenses:\n  - difference_monitor: {attribute: running_mean" +
                                        options + "}\nvisualizers: []\n");
  torch::nn::Sequential model(norm_of_two());
  inspector.attach(*model);
  model->forward(batch());
  model->forward(batch());
  inspector.tick_epoch();
  return inspector.value("Running Mean Difference", "0", line).value_or(-1);
}

TEST(DifferenceMonitorLens, SeesTheRunningMeanOfABatchNormChangeInPlace) {
  EXPECT_FLOAT_EQ(lens_value("", "mean"), 3.75);  // the norms are 5 and 2.5
  EXPECT_FLOAT_EQ(lens_value(", line: max", "max"), 5);
  EXPECT_FLOAT_EQ(lens_value(", duration: 0.5, step_time: 1, line: min", "min"), 2.5);
}

TEST(DifferenceMonitorLens, ReducesAndComparesByName) {
  EXPECT_FLOAT_EQ(lens_value(", reducer: sum", "sum"), 7.5);
  EXPECT_FLOAT_EQ(lens_value(", reducer: exponential, alpha: 0.2", "exponential"), 4.5);
  EXPECT_FLOAT_EQ(lens_value(", reducer: cumulative", "cumulative"), 3.75);
  EXPECT_FLOAT_EQ(lens_value(", reducer: minimum, map: max", "minimum"), 2);
  EXPECT_FLOAT_EQ(lens_value(", reducer: maximum, op: squared, map: mean", "maximum"), 12.5);
  EXPECT_FLOAT_EQ(lens_value(", reducer: event, threshold: 3, step_time: 0.5", "event"), 0.5);
  EXPECT_FLOAT_EQ(lens_value(", reducer: minimum, op: ratio, map: mean", "minimum"), 1.5);
  EXPECT_EQ(lens_value(", reducer: sum, train_update: false", "sum"), -1);
}

TEST(DifferenceMonitorLens, WatchesWhatTheTrainerExposes) {
  auto inspector = Inspector::from_text(
      "loupe: 1\nlenses:\n  - difference_monitor: {attribute: temperature, reducer: sum}\nvisualizers: []\n");
  torch::nn::Sequential model(torch::nn::Linear(1, 1));
  float temperature = 1;
  inspector.expose("0", "temperature", [&] { return torch::tensor({temperature *= 2}); });
  inspector.attach(*model);
  model->forward(torch::ones({1, 1}));
  inspector.tick_epoch();
  EXPECT_FLOAT_EQ(inspector.value("Temperature Difference", "0", "sum").value_or(-1), 2);
}

TEST(DifferenceMonitorLens, RefusesToWatchNothing) {
  EXPECT_THROW(Inspector::from_text("loupe: 1\nlenses: [difference_monitor]\n"), ConfigError);
}

}  // namespace
}  // namespace loupe
