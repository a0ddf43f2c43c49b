#include <gtest/gtest.h>

#include <cstring>

#include "component.h"

namespace loupe::test {
namespace {

struct Taps {
  struct Subscription {
    uint32_t tap;
    std::string label;
    bool has_label;
  };
  Taps() {
    c = {.struct_size = sizeof(loupe_taps),
         .context = this,
         .subscribe =
             [](void* self, const loupe_subscription* asked, loupe_error* error) {
               return detail::guarded(error, [&] {
                 const char* label = asked->label;
                 if (label != nullptr && std::string(label) == "missing") {
                   throw Error("'fc' has no parameter 'missing'", LOUPE_NOT_FOUND);
                 }
                 static_cast<Taps*>(self)->subscriptions.push_back(
                     {asked->tap, label != nullptr ? label : "", label != nullptr});
               });
             },
         .emit = [](void* self, const loupe_event* event, loupe_error*) -> loupe_status {
           static_cast<Taps*>(self)->emitted.push_back(event);
           return LOUPE_OK;
         }};
  }
  loupe_taps c{};
  std::vector<Subscription> subscriptions;
  std::vector<const loupe_event*> emitted;
};

class Gatherer {
 public:
  explicit Gatherer(const std::string& name)
      : component_(*find_component("gatherers", LOUPE_GATHERER_ID, name)),
        instance_(component_, ComponentOptions(component_, "{}")) {}
  loupe_status open(Taps& taps, const loupe_module* module, const char* label) {
    return table().open(instance_.self(), &taps.c, module, label, error_.get());
  }
  /// Whether it leaves out what it could do with events, and the host hands them on.
  bool hands_on() { return table().event == nullptr; }
  loupe_status event(const loupe_event& event) { return table().event(instance_.self(), &event, error_.get()); }
  const char* error() { return error_.text(); }

 private:
  const loupe_gatherer& table() { return instance_.table<loupe_gatherer>(); }
  const loupe_component& component_;
  Instance instance_;
  detail::ErrorBuffer error_;
};

loupe_module fc() {
  loupe_module module{};
  module.struct_size = sizeof module;
  module.id = 1;
  module.name = module.path = "fc";
  return module;
}

struct Expected {
  const char* gatherer;
  uint32_t tap;
  const char* label;
};

class ModuleGatherers : public testing::TestWithParam<Expected> {};

TEST_P(ModuleGatherers, SubscribeToTheirOwnTapAlone) {
  const loupe_module module = fc();
  Taps taps;
  Gatherer gatherer(GetParam().gatherer);
  ASSERT_EQ(gatherer.open(taps, &module, GetParam().label), LOUPE_OK) << gatherer.error();
  ASSERT_EQ(taps.subscriptions.size(), 1u);
  EXPECT_EQ(taps.subscriptions[0].tap, GetParam().tap);
  EXPECT_EQ(taps.subscriptions[0].has_label, GetParam().label != nullptr);
  EXPECT_EQ(taps.subscriptions[0].label, GetParam().label != nullptr ? GetParam().label : "");
}

TEST_P(ModuleGatherers, LeaveEventsToTheHost) {
  Gatherer gatherer(GetParam().gatherer);
  EXPECT_TRUE(gatherer.hands_on());
}

TEST_P(ModuleGatherers, RefuseToWatchNoModule) {
  Taps taps;
  Gatherer gatherer(GetParam().gatherer);
  EXPECT_EQ(gatherer.open(taps, nullptr, GetParam().label), LOUPE_INVALID);
  EXPECT_NE(std::strstr(gatherer.error(), GetParam().gatherer), nullptr) << gatherer.error();
}

TEST_P(ModuleGatherers, RefuseALabelTooManyOrTooFew) {
  const loupe_module module = fc();
  Taps taps;
  Gatherer gatherer(GetParam().gatherer);
  EXPECT_EQ(gatherer.open(taps, &module, GetParam().label != nullptr ? nullptr : "weight"), LOUPE_INVALID);
  EXPECT_TRUE(taps.subscriptions.empty());
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

TEST(ParameterGatherers, PassOnThatTheModuleHasNoSuchParameter) {
  const loupe_module module = fc();
  Taps taps;
  Gatherer gatherer("optimizer_step");
  EXPECT_EQ(gatherer.open(taps, &module, "missing"), LOUPE_NOT_FOUND);
  EXPECT_STREQ(gatherer.error(), "'fc' has no parameter 'missing'");
}

TEST(AttributeGatherer, WatchesTheTapOfAttributes) {
  const loupe_module module = fc();
  Taps taps;
  Gatherer gatherer("attribute");
  ASSERT_EQ(gatherer.open(taps, &module, "running_mean"), LOUPE_OK) << gatherer.error();
  ASSERT_EQ(taps.subscriptions.size(), 1u);
  EXPECT_EQ(taps.subscriptions[0].tap, static_cast<uint32_t>(LOUPE_TAP_ATTRIBUTE));
  EXPECT_EQ(taps.subscriptions[0].label, "running_mean");
}

TEST(PushGatherer, WatchesPushesAndNoModule) {
  const loupe_module module = fc();
  Taps taps;
  Gatherer gatherer("push");
  EXPECT_EQ(gatherer.open(taps, &module, nullptr), LOUPE_INVALID);
  EXPECT_EQ(gatherer.open(taps, nullptr, nullptr), LOUPE_OK);
  ASSERT_EQ(taps.subscriptions.size(), 1u);
  EXPECT_EQ(taps.subscriptions[0].tap, static_cast<uint32_t>(LOUPE_TAP_PUSH));
}

}  // namespace
}  // namespace loupe::test
