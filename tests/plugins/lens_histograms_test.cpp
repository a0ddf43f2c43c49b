#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "lens_world.h"

namespace loupe::test {
namespace {

using Names = std::vector<std::string>;

const ModuleSpec relu{"relu", "ReLU", LOUPE_FAMILY_ACTIVATION};
const ModuleSpec linear{
    "fc", "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF | LOUPE_MODULE_TAPPED, {"weight", "bias"}};

const Shown::Histogram& histogram(const Shown& shown, const std::string& tag, const std::string& layer,
                                  const std::string& line) {
  const auto found = shown.histograms.find({tag, layer, line});
  if (found == shown.histograms.end()) throw std::runtime_error("no histogram " + tag + " " + layer + " " + line);
  return found->second;
}

/// The count of the bin that `value` lies in.
double count_at(const Shown::Histogram& histogram, double value) {
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.edges[i] <= value && value < histogram.edges[i + 1]) return histogram.counts[i];
  }
  return -1;
}

double total(const Shown::Histogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0.0);
}

double count_at(const PreprocessorStream& stream, double value) {
  return count_at({stream.values("edges"), stream.values("bins")}, value);
}

TEST(HistogramPreprocessor, AddsUpTheBinsOfAnEpochInConstantMemory) {
  PreprocessorStream stream("histogram");
  stream.feed(Tensor({2}, {0, 1}));
  EXPECT_EQ(count_at(stream, 0), 1);
  EXPECT_EQ(count_at(stream, 1), 1);
  for (int i = 0; i < 10; ++i) stream.feed(Tensor({2}, {-1, 1}));
  EXPECT_EQ(count_at(stream, 0), 1);
  EXPECT_EQ(count_at(stream, -1.5), 10);
  EXPECT_EQ(count_at(stream, 1), 11);
  EXPECT_EQ(total({stream.values("edges"), stream.values("bins")}), 22);
  stream.reset();
  EXPECT_TRUE(stream.values("bins").empty());
  stream.feed(Tensor({1}, {-1}));
  EXPECT_EQ(count_at(stream, 1), 0);
  EXPECT_EQ(count_at(stream, -1.5), 1);
}

TEST(HistogramPreprocessor, PassesOverEvaluationUnlessToldToRecordIt) {
  EXPECT_FALSE(PreprocessorStream("histogram").feed(Tensor({1}, {1}), kEvaluation));
  EXPECT_TRUE(PreprocessorStream("histogram", "{record_eval: true}").feed(Tensor({1}, {1}), kEvaluation));
  PreprocessorStream by_gradients("histogram", "{evaluation_from_grad: true}");
  EXPECT_FALSE(by_gradients.feed(Tensor({1}, {1}), LOUPE_EVENT_TRAINING));
}

TEST(HistogramsLens, SpreadsOutputsOverBinsThatAscendFromNegativeToPositive) {
  LensWorld world("histograms");
  world.add(relu);
  world.forward("relu", Tensor({2, 3}, {0, 1, 1.5, -1, -3e-5f, 1e30f}));
  world.forward("relu", Tensor({2}, {1.25, -1e30f}));
  const Shown shown = world.tick();
  const Shown::Histogram output = histogram(shown, "Output Histogram", "relu", "output");
  ASSERT_EQ(output.edges.size(), output.counts.size() + 1);
  for (size_t i = 0; i + 1 < output.edges.size(); ++i) EXPECT_LT(output.edges[i], output.edges[i + 1]) << i;
  EXPECT_EQ(output.edges.front(), -INFINITY);
  EXPECT_EQ(output.edges.back(), INFINITY);
  EXPECT_EQ(total(output), 8);
  EXPECT_EQ(count_at(output, 0), 1);
  EXPECT_EQ(count_at(output, 1.7), 3);
  EXPECT_EQ(count_at(output, -1.7), 1);
  EXPECT_EQ(count_at(output, -3e-5), 1);
  EXPECT_EQ(count_at(output, 3e-5), 0);
  EXPECT_EQ(output.counts.front(), 1);
  EXPECT_EQ(output.counts.back(), 1);
}

TEST(HistogramsLens, ShowsEachEpochByItself) {
  LensWorld world("histograms");
  world.add(relu);
  world.forward("relu", Tensor({3}, {1, 1, 1}));
  world.tick();
  world.forward("relu", Tensor({1}, {4}));
  const Shown second = world.tick(2);
  EXPECT_EQ(total(histogram(second, "Output Histogram", "relu", "output")), 1);
  EXPECT_TRUE(world.tick(3).histograms.empty());
}

TEST(HistogramsLens, ShowsGradientsAndParametersAtTheTick) {
  LensWorld world("histograms");
  world.add(linear);
  world.event(LOUPE_TAP_PARAMETER_GRADIENT, "fc", Tensor({2}, {-1, -1}), "weight", kEvaluation);
  world.event(LOUPE_TAP_PARAMETER_GRADIENT, "fc", Tensor({2}, {-1, 1}), "weight", kTraining);
  world.event(LOUPE_TAP_TICK, "fc", Tensor({3}, {8, 8, 0}), "weight", kEvaluation);
  const Shown shown = world.tick();
  EXPECT_EQ(shown.histograms.size(), 2u);
  EXPECT_EQ(count_at(histogram(shown, "Weight Gradient Histogram", "fc", "gradient"), -1.5), 3);
  EXPECT_EQ(count_at(histogram(shown, "Weight Histogram", "fc", "parameter"), 8), 2);
}

TEST(HistogramsLens, WatchesWhatItsOptionsSay) {
  LensWorld standard("histograms");
  LensWorld chosen("histograms",
                   "{activations: false, include: [linear], parameters: [bias], gradient: step, exclude: [out]}");
  LensWorld more("histograms", "{gradients: false, include: [+Linear]}");
  LensWorld parameters("histograms", "{gradients: false, exclude: [activation]}");
  const ModuleSpec out{"out", "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, {"weight", "bias"}};
  for (LensWorld* world : {&standard, &chosen, &more, &parameters}) {
    world->add(relu);
    world->add(linear);
    world->add(out);
  }
  EXPECT_EQ(standard.watched(LOUPE_TAP_FORWARD), Names{"relu"});
  EXPECT_EQ(standard.watched(LOUPE_TAP_PARAMETER_GRADIENT), (Names{"fc/weight", "out/weight"}));
  EXPECT_EQ(standard.watched(LOUPE_TAP_TICK), (Names{"fc/weight", "out/weight"}));
  EXPECT_EQ(chosen.watched(LOUPE_TAP_FORWARD), Names{"fc"});
  EXPECT_EQ(chosen.watched(LOUPE_TAP_STEP_GRADIENT), Names{"fc/bias"});
  EXPECT_EQ(chosen.watched(LOUPE_TAP_TICK), Names{"fc/bias"});
  EXPECT_EQ(more.watched(LOUPE_TAP_FORWARD), (Names{"relu", "fc", "out"}));
  EXPECT_TRUE(parameters.watched(LOUPE_TAP_FORWARD).empty());
  EXPECT_TRUE(parameters.watched(LOUPE_TAP_PARAMETER_GRADIENT).empty());
  EXPECT_EQ(parameters.watched(LOUPE_TAP_TICK), (Names{"fc/weight", "out/weight"}));
}

TEST(HistogramsLens, IntroducesTheTagsItWillUse) {
  LensWorld world("histograms");
  world.add(linear);
  const Shown standard = world.tick();
  Names names;
  for (const auto& [name, tag] : standard.tags) names.push_back(name);
  EXPECT_EQ(names, (Names{"Output Histogram", "Weight Gradient Histogram", "Weight Histogram"}));
  EXPECT_TRUE(LensWorld("histograms", "{activations: false, parameters: none}").tick().tags.empty());
}

TEST(HistogramsLens, NamesNanApartFromTheBins) {
  LensWorld world("histograms");
  world.add(relu);
  world.forward("relu", Tensor({3}, {1, NAN, 1}));
  world.forward("relu", Tensor({2}, {1, INFINITY}));
  const Shown shown = world.tick();
  EXPECT_EQ(total(histogram(shown, "Output Histogram", "relu", "output")), 3);
  EXPECT_EQ(shown.value("Non-Finite Values", "relu", "Output Histogram NaN"), 1);
  EXPECT_EQ(shown.value("Non-Finite Values", "relu", "Output Histogram Inf"), 1);
}

TEST(HistogramsLens, ForgetsADetachedModule) {
  LensWorld world("histograms");
  world.add(relu);
  world.add(linear);
  world.forget("fc");
  world.forward("relu", Tensor({1}, {1}));
  EXPECT_EQ(world.tick().histograms.size(), 1u);
}

}  // namespace
}  // namespace loupe::test
