// Lenses as authors write them, each in under 25 lines: of attention, of gradients, of weights, with a finding.

#include <gtest/gtest.h>
#include <loupe/draft/tensor_math.h>
#include <loupe/plugin.h>
#include <loupe/testing.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "paths.h"

namespace {

namespace lt = loupe::testing;
using lt::Bench;
using lt::tensor;

struct AttentionEntropy : loupe::LayerLens {
  static constexpr auto name = "attention_entropy", help = "the entropy of each head's weights, in nats";
  using LayerLens::LayerLens;
  void visit(const loupe::Module& module) override {
    if (!takes(module, module.type() == "Softmax")) return;
    each(module, "forward", [](const loupe::Event& event, loupe::Numbers& numbers) {
      const loupe::Elements weights(event.tensor());
      if (weights.dim() != 4) return;
      for (int64_t head = 0; head < weights.size(1); ++head) {
        double sum = 0;
        for (int64_t b = 0; b < weights.size(0); ++b)
          for (int64_t q = 0; q < weights.size(2); ++q)
            for (int64_t k = 0; k < weights.size(3); ++k)
              if (const double p = weights(b, head, q, k); p > 0) sum -= p * std::log(p);
        numbers.push("head", static_cast<std::size_t>(head), sum / double(weights.size(0) * weights.size(2)));
      }
    });
  }
};

struct GradientCosine : loupe::LayerLens {
  static constexpr auto name = "gradient_cosine", help = "the cosine between a step's gradient and the one before";
  using LayerLens::LayerLens;
  void visit(const loupe::Module& module) override {
    each(module, loupe::Watch("step_gradient").label("weight").measure(LOUPE_MEASURE_PREVIOUS),
         [](const loupe::Event& event) -> std::optional<double> {
           const loupe::Measurement& now = event.measurement();
           if (!loupe::has_previous(now)) return std::nullopt;
           return now.dot_previous / std::sqrt(now.sum_squares * now.previous_sum_squares);
         });
  }
};

struct EffectiveRank : loupe::LayerLens {
  static constexpr auto name = "effective_rank", help = "the exponential of the entropy of a weight's singular values";
  using LayerLens::LayerLens;
  void visit(const loupe::Module& module) override {
    if (!takes(module, module.has_parameter("weight"))) return;
    each(module, loupe::Watch("tick").label("weight"), [this](const loupe::Event& event) {
      double sum = 0, entropy = 0;
      const std::vector<double> values = loupe::draft::singular_values(host(), event.tensor());
      for (const double value : values) sum += value;
      for (const double value : values) entropy -= value > 0 ? value / sum * std::log(value / sum) : 0;
      return std::exp(entropy);
    });
  }
  void report(loupe::Report& report) override {
    LayerLens::report(report);
    for (const loupe::Layer& layer : layers()) {
      const auto rank = layer.source.get("value");
      if (rank && *rank < 1.5) low_.see({layer.module, *rank, 1.5, "'" + layer.name + "' has nearly rank 1"});
    }
    low_.end_tick(report);
  }
  loupe::Rule low_{"low_rank", /*patience=*/1};
};

LOUPE_STATIC_PLUGIN(short_lenses, "short_lenses", "1.0", AttentionEntropy, GradientCosine, EffectiveRank);

Bench bench_of(const std::string& lens) {
  return Bench("lenses: [" + lens + "]", {LOUPE_BUILT_PLUGINS}, {&short_lenses});
}

TEST(ShortLenses, ShowTheEntropyOfEachAttentionHeadInHalfPrecisionToo) {
  for (const lt::Type type : {lt::Type::float32, lt::Type::float16, lt::Type::bfloat16}) {
    Bench bench = bench_of("attention_entropy");
    const auto softmax = bench.module("attention.softmax", "Softmax");
    bench.module("relu", "ReLU");
    bench.forward(softmax, tensor({1, 0, 0, 1, 0.5, 0.5, 0.5, 0.5}, {1, 2, 2, 2}, type));
    bench.forward(softmax, tensor({1, 0}, {1, 2}, type));  // a different shape
    bench.tick();
    EXPECT_DOUBLE_EQ(bench.value("Attention Entropy", "attention.softmax", "head 0 mean"), 0);
    EXPECT_DOUBLE_EQ(bench.value("Attention Entropy", "attention.softmax", "head 1 mean"), std::log(2));
  }
}

TEST(ShortLenses, ShowTheCosineOfGradientsWithItsQuantiles) {
  Bench bench = bench_of("gradient_cosine: {line: [median], range: [Q1-Q3]}");
  bench.module("relu", "ReLU");  // not watched, as it has no weight
  const auto layer = bench.module("fc1", "Linear", {{"weight", {2}}});
  bench.set(layer, "weight", tensor({1, 1}));
  for (const auto& gradient : {tensor({1, 0}), tensor({2, 0}), tensor({0, 3}), tensor({0, -1})}) {
    bench.gradient(layer, "weight", gradient);
    bench.step();
  }
  bench.tick();
  EXPECT_NEAR(bench.value("Gradient Cosine", "fc1", "median"), 0, 1e-6);
  for (const std::string& line : bench.log()) EXPECT_EQ(line.find("gradient_cosine"), std::string::npos) << line;
  EXPECT_NEAR(bench.range("Gradient Cosine", "fc1", "Q1").low, -0.5, 0.01);
  EXPECT_NEAR(bench.range("Gradient Cosine", "fc1", "Q1").high, 0.5, 0.01);
}

TEST(ShortLenses, FindAWeightOfLowRank) {
  Bench bench = bench_of("effective_rank");
  const auto full = bench.module("fc1", "Linear", {{"weight", {2, 2}}});
  const auto low = bench.module("fc2", "Linear", {{"weight", {2, 2}}});
  bench.set(full, "weight", tensor({1, 0, 0, 1}, {2, 2}));
  bench.set(low, "weight", tensor({1, 2, 2, 4}, {2, 2}));
  bench.tick();
  EXPECT_NEAR(bench.value("Effective Rank", "fc1", "mean"), 2, 1e-6);
  EXPECT_NEAR(bench.value("Effective Rank", "fc2", "mean"), 1, 1e-6);
  ASSERT_EQ(bench.findings().size(), 1U);
  EXPECT_EQ(bench.findings()[0].rule, "low_rank");
  EXPECT_EQ(bench.findings()[0].layer, "fc2");
  EXPECT_EQ(bench.findings()[0].message, "'fc2' has nearly rank 1");
}

}  // namespace
