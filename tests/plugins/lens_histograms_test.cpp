#include "built_in.h"

#include <numeric>

namespace {

constexpr const char* output_tag = "Output Histogram";
constexpr const char* gradient_tag = "Weight Gradient Histogram";
constexpr const char* weight_tag = "Weight Histogram";

/// The count of the bin that contains `value`.
double count_at(const lt::Histogram& histogram, double value) {
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.edges[i] <= value && value < histogram.edges[i + 1]) return histogram.counts[i];
  }
  return -1;
}

double total(const lt::Histogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0.0);
}

lt::Histogram read(const Stream& stream) {
  return {stream.values("edges"), stream.values("bins")};
}

TEST(HistogramPreprocessor, AddsUpTheBinsOfAnEpochInConstantMemory) {
  Stream stream("histogram");
  stream.feed(tensor({0, 1}));
  EXPECT_EQ(count_at(read(stream), 0), 1);
  EXPECT_EQ(count_at(read(stream), 1), 1);
  for (int i = 0; i < 10; ++i) stream.feed(tensor({-1, 1}));
  EXPECT_EQ(count_at(read(stream), 0), 1);
  EXPECT_EQ(count_at(read(stream), -1.5), 10);
  EXPECT_EQ(count_at(read(stream), 1), 11);
  EXPECT_EQ(total(read(stream)), 22);
  stream.reset();
  EXPECT_TRUE(stream.values("bins").empty());
  stream.feed(tensor({-1}));
  EXPECT_EQ(count_at(read(stream), 1), 0);
  EXPECT_EQ(count_at(read(stream), -1.5), 1);
}

class HistogramsLens : public testing::Test {
 protected:
  LensBench bench_{"histograms"};
  lt::Module relu_ = bench_.add("relu", "ReLU"), fc_ = bench_.add("fc", "Linear", {{"weight", {3}}, {"bias", {1}}});
  lt::Histogram output() {
    bench_.tick();
    return bench_.histogram(output_tag, "relu", "output");
  }
};

TEST_F(HistogramsLens, SpreadsOutputsOverBinsThatAscendFromNegativeToPositive) {
  bench_.forward(relu_, tensor({0, 1, 1.5, -1, -3e-5, 1e30}, {2, 3}));
  bench_.forward(relu_, tensor({1.25, -1e30}));
  const lt::Histogram shown = output();
  ASSERT_EQ(shown.edges.size(), shown.counts.size() + 1);
  for (std::size_t i = 0; i + 1 < shown.edges.size(); ++i) EXPECT_LT(shown.edges[i], shown.edges[i + 1]) << i;
  EXPECT_EQ(shown.edges.front(), -INFINITY);
  EXPECT_EQ(shown.edges.back(), INFINITY);
  EXPECT_EQ(total(shown), 8);
  for (const auto& [value, count] : {std::pair(0.0, 1.0), {1.7, 3}, {-1.7, 1}, {-3e-5, 1}, {3e-5, 0}})
    EXPECT_EQ(count_at(shown, value), count) << value;
  EXPECT_EQ(shown.counts.front(), 1);
  EXPECT_EQ(shown.counts.back(), 1);
}

TEST_F(HistogramsLens, ShowsEachEpochSeparately) {
  bench_.forward(relu_, tensor({1, 1, 1}));
  EXPECT_EQ(total(output()), 3);
  bench_.forward(relu_, tensor({4}));
  EXPECT_EQ(total(output()), 1);
  bench_.tick();
  EXPECT_TRUE(bench_.is_silent());
}

TEST_F(HistogramsLens, ShowsGradientsAndParametersAtTheTick) {
  bench_.gradient(fc_, "weight", tensor({-1, -1, 1}));
  bench_.gradient(fc_, "weight", tensor({-1, 1, 1}));
  bench_.set(fc_, "weight", tensor({8, 8, 0}));
  bench_.set(fc_, "bias", tensor({8}));
  bench_.tick();
  EXPECT_EQ(count_at(bench_.histogram(gradient_tag, "fc", "gradient"), -1.5), 3);
  EXPECT_EQ(count_at(bench_.histogram(weight_tag, "fc", "parameter"), 8), 2);
  EXPECT_EQ(bench_.tags(), (Names{output_tag, gradient_tag, weight_tag}));
}

TEST(HistogramsLensOptions, SelectTheWatchedTensors) {
  struct Watched {
    const char* yaml;
    Names outputs, gradients, weights, biases;
  };
  for (const auto& [yaml, outputs, gradients, weights, biases] : std::vector<Watched>{
           {"{}", {"relu"}, {"fc", "out"}, {"fc", "out"}, {}},
           {"{activations: false, include: [linear], parameters: [bias], exclude: [out]}", {"fc"}, {}, {}, {"fc"}},
           {"{gradients: false, include: [+Linear]}", {"fc", "out", "relu"}, {}, {"fc", "out"}, {}},
           {"{gradients: false, exclude: [activation]}", {}, {}, {"fc", "out"}, {}}}) {
    LensBench bench("histograms", yaml);
    bench.add("relu", "ReLU");
    bench.add("fc", "Linear", weight_and_bias);
    bench.add("out", "Linear", weight_and_bias);
    bench.live();
    EXPECT_EQ(bench.layers(output_tag), outputs) << yaml;
    EXPECT_EQ(bench.layers(gradient_tag), gradients) << yaml;
    EXPECT_EQ(bench.layers(weight_tag), weights) << yaml;
    EXPECT_EQ(bench.layers("Bias Histogram"), biases) << yaml;
  }
  LensBench none("histograms", "{activations: false, parameters: none}");
  none.tick();
  EXPECT_TRUE(none.tags().empty());
}

TEST_F(HistogramsLens, CountsNaNSeparatelyFromTheBins) {
  bench_.forward(relu_, tensor({1, NAN, 1}));
  bench_.forward(relu_, tensor({1, INFINITY}));
  EXPECT_EQ(total(output()), 3);
  EXPECT_EQ(bench_.number("Non-Finite Values", "relu", "Output Histogram NaN"), 1);
  EXPECT_EQ(bench_.number("Non-Finite Values", "relu", "Output Histogram Inf"), 1);
}

TEST_F(HistogramsLens, ForgetsADetachedModule) {
  bench_.set(fc_, "weight", tensor({8, 8, 0}));
  bench_.forget_with_a_tick(fc_);
  bench_.forward(relu_, tensor({1}));
  EXPECT_EQ(total(output()), 1);
  EXPECT_TRUE(bench_.layers(weight_tag).empty());
}

}  // namespace
