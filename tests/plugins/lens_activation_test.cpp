#include "built_in.h"

namespace {

constexpr const char* output_tag = "Output Activations";
constexpr const char* worst_output = "Worst Output Activations";
constexpr const char* weight_tag = "Weight Gradient Activation";
constexpr const char* bias_tag = "Bias Gradient Activation";
constexpr const char* worst_gradient = "Worst Gradient Activations";

/// The modules that output_activation watches in a model with one module of every kind.
Names looked_at(const std::string& yaml) {
  LensBench bench("output_activation", yaml);
  bench.add("", "Net", {}, LOUPE_MODULE_ROOT);
  bench.add("body", "Sequential", {}, 0);
  bench.add("body.fc", "Linear");
  bench.add("body.act", "ReLU");
  bench.add("body.drop", "Dropout");
  bench.add("body.fc:relu", "ReLU", {}, LOUPE_MODULE_FUNCTIONAL | LOUPE_MODULE_TAPPED);
  bench.add("loss_fn", "CrossEntropyLoss", {}, LOUPE_MODULE_LEAF | LOUPE_MODULE_LOSS);
  bench.live();
  return bench.layers(output_tag);
}

TEST(OutputActivationLens, WatchesActivationsFunctionsAndDropoutsByDefault) {
  EXPECT_EQ(looked_at("{}"), (Names{"body.act", "body.drop", "body.fc:relu"}));
}

TEST(OutputActivationLens, LeavesFamiliesOutByOption) {
  EXPECT_EQ(looked_at("{dropout: false}"), (Names{"body.act", "body.fc:relu"}));
  EXPECT_EQ(looked_at("{activation: false}"), Names{"body.drop"});
}

/// The lens's messages at the ticks of a model with a Linear and a ReLU.
Names told_by(const std::string& yaml) {
  LensBench bench("output_activation", yaml);
  bench.tick();  // before any module is attached
  bench.add("fc", "Linear");
  bench.add("act", "ReLU");
  for (int i = 0; i < 2; ++i) bench.tick();
  return bench.told();
}

TEST(OutputActivationLens, SaysOnceThatItWatchesNothing) {
  EXPECT_EQ(told_by("{activation: false}"),
            Names{"it watches nothing, so it shows nothing: none of the model's 2 modules match its options; "
                  "include names modules by type (here Linear, ReLU), family or name"});
  EXPECT_TRUE(told_by("{}").empty());
}

TEST(OutputActivationLens, DoesNotSayThatItLooksAtNothingWhereWhatItLookedAtIsGone) {
  LensBench bench("output_activation");
  bench.forget(bench.add("act", "ReLU"));
  bench.tick();
  EXPECT_EQ(bench.told(), Names{});
}

TEST(OutputActivationLens, SaysOnceThatIncludeReplacedTheDefault) {
  const Names told = told_by("{include: [Linear]}");
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("instead of the module that it watches by default; an entry written with a +"),
            std::string::npos);
  for (const char* clear :
       {"{include: [+Linear]}", "{include: [Linear, ReLU]}", "{include: [Linear], activation: false}"}) {
    EXPECT_TRUE(told_by(clear).empty()) << clear;
  }
}

TEST(OutputActivationLens, DeclaresItsTagsAsProbabilities) {
  LensBench bench("output_activation"), alone("output_activation", "{warning_plot: false}");
  bench.tick();
  EXPECT_EQ(bench.tags(), (Names{output_tag, worst_output}));
  EXPECT_EQ(bench.tag(output_tag).type, static_cast<uint32_t>(LOUPE_SCALE_PROBABILITY));
  EXPECT_FALSE(bench.tag(output_tag).big);
  EXPECT_EQ(bench.tag(worst_output).type, static_cast<uint32_t>(LOUPE_SCALE_PROBABILITY));
  EXPECT_TRUE(bench.tag(worst_output).big);
  alone.add("act", "ReLU");
  alone.live();
  EXPECT_EQ(alone.tags(), Names{output_tag});
}

TEST(OutputActivationLens, ShowsEachLayersRatesAndTheWorstOfAll) {
  LensBench bench("output_activation");
  bench.forward(bench.add("first", "ReLU"), tensor({1, 1, 1, 0}, {1, 4}));
  bench.forward(bench.add("second", "ReLU"), tensor({1, 0, 1, 0}, {2, 2}));
  bench.tick();
  EXPECT_EQ(bench.number(output_tag, "first", "activation_rate"), 0.75);
  EXPECT_EQ(bench.number(output_tag, "first", "death_rate"), 0.25);
  EXPECT_EQ(bench.number(output_tag, "second", "activation_rate"), 0.5);
  EXPECT_EQ(bench.number(output_tag, "second", "death_rate"), 0.5);
  EXPECT_EQ(bench.number(worst_output, "", "worst activation_rate"), 0.5);
  EXPECT_EQ(bench.number(worst_output, "", "worst death_rate"), 0.5);
}

TEST(OutputActivationLens, AggregatesAnEpochByItsOptionsIncludingQuantiles) {
  for (const char* inplace : {"true", "false"}) {
    LensBench bench("output_activation",
                    std::string("{activation_aggregation: median, death_aggregation: max, inplace: ") + inplace + "}");
    const lt::Module act = bench.add("act", "ReLU");
    for (const double first : {1, 0, 1}) bench.forward(act, tensor({first, 1}, {1, 2}));
    bench.tick();
    EXPECT_EQ(bench.number(output_tag, "act", "activation_rate"), 1);
    EXPECT_EQ(bench.number(output_tag, "act", "death_rate"), 0.5);
  }
}

TEST(OutputActivationLens, CountsValuesAboveEpsAsActive) {
  LensBench bench("output_activation", "{eps: 0.5}");
  bench.forward(bench.add("act", "ReLU"), tensor({0.4, 0.5, 0.6, -2}, {1, 4}));
  bench.tick();
  EXPECT_EQ(bench.number(output_tag, "act", "activation_rate"), 0.5);
  EXPECT_EQ(bench.number(output_tag, "act", "death_rate"), 0.5);
}

TEST(OutputActivationLens, PassesItsOptionsOn) {
  const auto death = [](const char* yaml, const lt::Tensor& output, lt::Pass pass) {
    LensBench bench("output_activation", yaml);
    bench.forward(bench.add("act", "ReLU"), output, pass);
    bench.tick();
    return bench.number(output_tag, "act", "death_rate");
  };
  EXPECT_FALSE(death("{}", tensor({1}, {1, 1}), lt::evaluation_pass));
  EXPECT_EQ(death("{record_eval: true}", tensor({1}, {1, 1}), lt::evaluation_pass), 0);
  EXPECT_FALSE(death("{evaluation_from_grad: true}", tensor({1}, {1, 1}), without_gradients));
  EXPECT_EQ(death("{channel_last: true}", tensor({1, 0, 1, 0}, {1, 2, 2}), lt::training_pass), 0.5);
}

TEST(OutputActivationLens, ShowsNothingOfALayerThatSawNothing) {
  LensBench bench("output_activation");
  bench.forward(bench.add("used", "ReLU"), tensor({1}, {1, 1}));
  bench.add("skipped", "ReLU");
  bench.tick();
  EXPECT_EQ(bench.layers(output_tag), Names{"used"});
  bench.tick();
  EXPECT_TRUE(bench.is_silent());
}

TEST(OutputActivationLens, ForgetsADetachedModule) {
  LensBench bench("output_activation");
  const lt::Module gone = bench.add("gone", "ReLU"), kept = bench.add("kept", "ReLU");
  bench.forward(gone, tensor({0}, {1, 1}));
  bench.forget_with_a_tick(gone);
  bench.forward(kept, tensor({1}, {1, 1}));
  bench.tick();
  EXPECT_EQ(bench.layers(output_tag), Names{"kept"});
  EXPECT_EQ(bench.number(worst_output, "", "worst activation_rate"), 1);
}

TEST(OutputActivationLens, CountsNaNEventsAndLeavesThemOutOfTheWorst) {
  LensBench bench("output_activation");
  const lt::Module bad = bench.add("bad", "ReLU"), good = bench.add("good", "ReLU");
  bench.tick();
  EXPECT_FALSE(bench.has_tag("Non-Finite Values"));
  for (int i = 0; i < 2; ++i) bench.forward(bad, tensor({NAN}, {1, 1}));
  bench.forward(good, tensor({1}, {1, 1}));
  bench.tick();
  EXPECT_EQ(bench.number("Non-Finite Values", "bad", "Output Activations NaN"), 2);
  EXPECT_EQ(bench.layers("Non-Finite Values"), Names{"bad"});
  EXPECT_EQ(bench.number(worst_output, "", "worst activation_rate"), 1);
}

TEST(ParameterGradientActivationLens, ShowsEachParametersRatesAndTheWorstOfAllAnewEachEpoch) {
  LensBench bench("parameter_gradient_activation");
  const lt::Module fc = bench.add("fc", "Linear", weight_and_bias);
  bench.gradient(fc, "weight", tensor({1, 1, 1, 0}, {2, 2}));
  bench.gradient(fc, "bias", tensor({1, 0}));
  bench.tick();
  EXPECT_EQ(bench.number(weight_tag, "fc", "activation_rate"), 0.75);
  EXPECT_EQ(bench.number(weight_tag, "fc", "death_rate"), 0);
  EXPECT_EQ(bench.number(bias_tag, "fc", "activation_rate"), 0.5);
  EXPECT_EQ(bench.number(bias_tag, "fc", "death_rate"), 0.5);
  EXPECT_EQ(bench.number(worst_gradient, "", "worst activation_rate"), 0.5);
  EXPECT_EQ(bench.number(worst_gradient, "", "worst death_rate"), 0.5);
  bench.gradient(fc, "bias", tensor({1, 1}));
  bench.tick();
  EXPECT_EQ(bench.number(worst_gradient, "", "worst activation_rate"), 1);
  EXPECT_EQ(bench.number(worst_gradient, "", "worst death_rate"), 0);
  bench.tick();
  EXPECT_TRUE(bench.is_silent());
}

TEST(ParameterGradientActivationLens, DeclaresAPlotPerParameterAndTheWarnings) {
  LensBench all("parameter_gradient_activation"),
      biases("parameter_gradient_activation", "{warning_plot: false, parameters: bias}");
  for (LensBench* each : {&all, &biases}) {
    each->add("fc", "Linear", weight_and_bias);
    each->live();
  }
  EXPECT_EQ(all.tags(), (Names{bias_tag, weight_tag, worst_gradient}));
  for (const std::string& tag : all.tags()) {
    EXPECT_EQ(all.tag(tag).type, static_cast<uint32_t>(LOUPE_SCALE_PROBABILITY)) << tag;
  }
  EXPECT_TRUE(all.tag(worst_gradient).big);
  EXPECT_EQ(biases.tags(), Names{bias_tag});
}

TEST(ParameterGradientActivationLens, AggregatesByItsOptions) {
  LensBench bench("parameter_gradient_activation", "{activation_aggregation: min, death_aggregation: Q3}");
  const lt::Module fc = bench.add("fc", "Linear", weight_and_bias);
  for (const std::vector<double>& gradient : {std::vector<double>{1, 1}, {0, 1}, {0, 0}})
    bench.gradient(fc, "bias", tensor(gradient));
  bench.tick();
  EXPECT_EQ(bench.number(bias_tag, "fc", "activation_rate"), 0);
  EXPECT_EQ(bench.number(bias_tag, "fc", "death_rate"), 0.75);
}

TEST(ParameterGradientActivationLens, CountsNaNEventsAndForgetsADetachedModule) {
  LensBench bench("parameter_gradient_activation");
  const lt::Module fc = bench.add("fc", "Linear", weight_and_bias);
  bench.gradient(fc, "bias", tensor({NAN, 1}));
  bench.tick();
  EXPECT_EQ(bench.number("Non-Finite Values", "fc", "Bias Gradient Activation NaN"), 1);
  EXPECT_FALSE(bench.number(worst_gradient, "", "worst activation_rate"));
  bench.gradient(fc, "bias", tensor({1, 1}));
  bench.forget_with_a_tick(fc);
  bench.tick();
  EXPECT_TRUE(bench.is_silent());
}

}  // namespace
