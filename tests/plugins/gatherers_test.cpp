#include "built_in.h"

#include <loupe/error.h>

#include <set>

namespace {

struct Expected {
  const char* gatherer;
  uint32_t tap;
  const char* label;
};

/// Collects the taps of its events.
class Noted : public loupe::Preprocessor {
 public:
  loupe::Request request() const override { return {}; }
  void process(const loupe::Event& event) override { taps.insert(event.tap()); }
  std::set<uint32_t> taps;
};

/// The taps of the events that a gatherer passes on, for a model with all events; and its message if it refuses.
std::set<uint32_t> taps_of(const char* gatherer, const char* label, std::string* refusal = nullptr) {
  Noted noted;
  lt::Bench bench = probe_bench({}, [&](Probe& probe, const loupe::Module& module) {
    try {
      probe.look_at(module, loupe::Watch(gatherer).label(label), noted);
    } catch (const loupe::Error& reason) {
      if (refusal != nullptr) *refusal = reason.what();
    }
  });
  const lt::Module module = bench.module("fc", "Linear", {{"weight", {1}}});
  bench.set(module, "weight", tensor({1}));
  bench.forward(module, {tensor({1})}, {tensor({1})});
  bench.output_gradient(module, tensor({1}));
  bench.input_gradient(module, tensor({1}));
  bench.gradient(module, "weight", tensor({1}));
  bench.push_loss(1);
  bench.step();
  bench.tick();
  return noted.taps;
}

class ModuleGatherers : public testing::TestWithParam<Expected> {};

TEST_P(ModuleGatherers, SubscribeOnlyToTheirOwnTap) {
  EXPECT_EQ(taps_of(GetParam().gatherer, GetParam().label), std::set<uint32_t>{GetParam().tap});
}

TEST_P(ModuleGatherers, RefuseToWatchWithoutAModule) {
  std::string refusal;
  const lt::Bench bench = probe_bench([&](Probe& probe) {
    try {
      probe.watch_pushes(loupe::Watch(GetParam().gatherer).label(GetParam().label).preprocessor("output_norm"));
    } catch (const loupe::Error& reason) {
      refusal = reason.what();
      EXPECT_EQ(reason.status(), LOUPE_INVALID);
    }
  });
  EXPECT_NE(refusal.find("'" + std::string(GetParam().gatherer) + "' needs a module"), std::string::npos) << refusal;
}

TEST_P(ModuleGatherers, RefuseMissingOrExtraLabels) {
  std::string refusal;
  EXPECT_TRUE(taps_of(GetParam().gatherer, GetParam().label != nullptr ? nullptr : "weight", &refusal).empty());
  const char* words = GetParam().label != nullptr ? "needs the name of a parameter" : "takes no parameter";
  EXPECT_NE(refusal.find(words), std::string::npos) << refusal;
}

INSTANTIATE_TEST_SUITE_P(All, ModuleGatherers,
                         testing::Values(Expected{"forward", LOUPE_TAP_FORWARD, nullptr},
                                         Expected{"output_gradient", LOUPE_TAP_OUTPUT_GRADIENT, nullptr},
                                         Expected{"forward_input", LOUPE_TAP_FORWARD_BEFORE, nullptr},
                                         Expected{"input_gradient", LOUPE_TAP_INPUT_GRADIENT, nullptr},
                                         Expected{"parameter_gradient", LOUPE_TAP_PARAMETER_GRADIENT, "weight"},
                                         Expected{"step_gradient", LOUPE_TAP_STEP_GRADIENT, "weight"},
                                         Expected{"call_parameter", LOUPE_TAP_ATTRIBUTE, "weight"},
                                         Expected{"tick", LOUPE_TAP_TICK, "weight"},
                                         Expected{"optimizer_step", LOUPE_TAP_OPTIMIZER_STEP, "weight"}),
                         [](const auto& info) { return std::string(info.param.gatherer); });

TEST(ParameterGatherers, ReportThatTheModuleHasNoSuchParameter) {
  std::string refusal;
  EXPECT_TRUE(taps_of("optimizer_step", "missing", &refusal).empty());
  EXPECT_NE(refusal.find("'missing'"), std::string::npos) << refusal;
}

TEST(AttributeGatherer, WatchesTheTapOfAttributes) {
  EXPECT_EQ(taps_of("attribute", "weight"), std::set<uint32_t>{LOUPE_TAP_ATTRIBUTE});
}

TEST(PushGatherer, WatchesOnlyPushes) {
  std::string refusal;
  EXPECT_TRUE(taps_of("push", nullptr, &refusal).empty());
  EXPECT_NE(refusal.find("not a module"), std::string::npos) << refusal;
  Noted noted;
  lt::Bench bench = probe_bench([&](Probe& probe) { probe.watch_pushes({"push"}, noted); });
  bench.push_metric("accuracy", 1);
  EXPECT_EQ(noted.taps, std::set<uint32_t>{LOUPE_TAP_PUSH});
}

}  // namespace
