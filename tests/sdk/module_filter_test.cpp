#include <gtest/gtest.h>
#include <loupe/lenses/kind_filter.h>
#include <loupe/module_filter.h>

#include <optional>

#include "fake.h"

namespace loupe::test {
namespace {

struct Model {
  FakeModule root{"", "Net", LOUPE_FAMILY_OTHER, LOUPE_MODULE_ROOT};
  FakeModule body{"body", "Sequential", LOUPE_FAMILY_OTHER, 0};
  FakeModule fc{"body.3", "Linear", LOUPE_FAMILY_LINEAR};
  FakeModule act{"body.4", "ReLU", LOUPE_FAMILY_ACTIVATION};
  FakeModule out{"body.12", "Linear", LOUPE_FAMILY_LINEAR};
  FakeModule loss{"loss", "MSELoss", LOUPE_FAMILY_LOSS, LOUPE_MODULE_LEAF | LOUPE_MODULE_LOSS};
  std::vector<const FakeModule*> all{&root, &body, &fc, &act, &out, &loss};
};

/// The names of the modules that a lens takes, if it takes activations by default.
Strings taken(const Strings& include, const Strings& exclude = {}) {
  std::optional<ModuleFilter> filter;
  with_options({{"include", include}, {"exclude", exclude}}, [&](const Options& options) { filter.emplace(options); });
  Strings names;
  for (const FakeModule* each : Model().all) {
    const Module module = each->module();
    if (filter->takes(module, is_activation(module) && is_leaf(module))) names.push_back(module.name());
  }
  return names;
}

TEST(ModuleFilter, LeavesTheDefaultToTheLensWithoutInclude) {
  EXPECT_EQ(taken({}), Strings{"body.4"});
  EXPECT_EQ(taken({}, {"ReLU"}), Strings{});
}

TEST(ModuleFilter, TakesExactlyWhatIncludeNames) {
  EXPECT_EQ(taken({"Linear"}), (Strings{"body.3", "body.12"}));
  EXPECT_EQ(taken({"torch::nn::ReLUImpl"}), Strings{"body.4"});
  EXPECT_EQ(taken({"body.[3-5]"}), (Strings{"body.3", "body.4"}));
  EXPECT_EQ(taken({"linear", "ReLU"}), (Strings{"body.3", "body.4", "body.12"}));
  EXPECT_EQ(taken({"nothing"}), Strings{});
}

TEST(ModuleFilter, AddsModulesThatIncludeNamesAfterAPlus) {
  EXPECT_EQ(taken({"+body.3"}), (Strings{"body.3", "body.4"}));
  EXPECT_EQ(taken({"+Linear"}, {"body.12"}), (Strings{"body.3", "body.4"}));
}

TEST(ModuleFilter, TakesAContainerOnlyWhereItIsNamedInFull) {
  EXPECT_EQ(taken({"body"}), Strings{"body"});
  EXPECT_EQ(taken({"Sequential"}), Strings{"body"});
  EXPECT_EQ(taken({"body*"}), (Strings{"body.3", "body.4", "body.12"}));
}

TEST(ModuleFilter, NeverTakesALoss) {
  EXPECT_EQ(taken({"loss", "MSELoss", "*"}), (Strings{"body.3", "body.4", "body.12"}));
}

TEST(ModuleFilter, ReportsUnknownNamesOnceAndOnlyIfThereIsAModel) {
  std::optional<ModuleFilter> filter;
  with_options({{"include", Strings{"Linaer", "ReLU"}}, {"exclude", Strings{"+ReLU"}}},
               [&](const Options& options) { filter.emplace(options); });
  FakeHost host;
  filter->warn(host.host(), false);
  EXPECT_TRUE(host.said.empty());
  for (const FakeModule* each : Model().all) filter->takes(each->module(), false);
  filter->warn(host.host(), true);
  filter->warn(host.host(), true);
  EXPECT_EQ(host.said, (Strings{"no module fits 'Linaer' given in include; did you mean 'Linear'?",
                                "no module fits '+ReLU' given in exclude; did you mean 'ReLU'?"}));
}

TEST(ModuleFilter, DoesNotReportAnAddedFamilyThatTheModelLacks) {
  std::optional<ModuleFilter> filter;
  with_options({{"include", Strings{"+recurrent", "+Recurrent"}}, {"exclude", Strings{}}},
               [&](const Options& options) { filter.emplace(options); });
  FakeHost host;
  for (const FakeModule* each : Model().all) filter->takes(each->module(), true);
  filter->warn(host.host(), true);
  ASSERT_EQ(host.said.size(), 1U);
  EXPECT_EQ(host.said[0].rfind("no module fits 'Recurrent'", 0), 0U) << host.said[0];
}

TEST(ModuleFilter, ListsTheModulesIfNoNameIsNear) {
  std::optional<ModuleFilter> filter;
  with_options({{"include", Strings{"Conv2d"}}, {"exclude", Strings{}}},
               [&](const Options& options) { filter.emplace(options); });
  FakeHost host;
  const Model model;
  for (const FakeModule* each : model.all) filter->takes(each->module(), false);
  filter->warn(host.host(), true);
  ASSERT_EQ(host.said.size(), 1u);
  EXPECT_EQ(host.said[0].rfind("no module fits 'Conv2d' given in include; there are: ", 0), 0u) << host.said[0];
  EXPECT_NE(host.said[0].find("Linear"), std::string::npos) << host.said[0];
}

TEST(WantedNames, ListOnlyTheFirstOfManyNames) {
  WantedNames names("include", "module", {"nowhere"});
  for (char each = 'a'; each <= 'o'; ++each) names.offer(std::string(1, each));
  FakeHost host;
  EXPECT_TRUE(names.warn(host.host()));
  EXPECT_EQ(host.said, Strings{"no module fits 'nowhere' given in include; there are: a, b, c, d, e, f, g, h, i, "
                               "j, k, l, and 3 more"});
}

Strings of_kind(const Strings& types, const Strings& families, const Strings& include, bool leaves_only) {
  std::optional<KindFilter> filter;
  with_options({{"types", types},
                {"families", families},
                {"include", include},
                {"exclude", Strings{"body.12"}},
                {"leaves_only", leaves_only}},
               [&](const Options& options) { filter.emplace(options); });
  Strings names;
  for (const FakeModule* each : Model().all) {
    if (filter->takes(each->module())) names.push_back(each->module().name());
  }
  return names;
}

TEST(KindFilter, SelectsModulesByTypeFamilyAndPlace) {
  EXPECT_EQ(of_kind({}, {}, {}, true), (Strings{"body.3", "body.4"}));
  EXPECT_EQ(of_kind({}, {}, {}, false), (Strings{"", "body", "body.3", "body.4"}));
  EXPECT_EQ(of_kind({"Lin*", "Sequential"}, {}, {}, false), (Strings{"body", "body.3"}));
  EXPECT_EQ(of_kind({}, {"activation"}, {}, true), Strings{"body.4"});
  EXPECT_EQ(of_kind({}, {"linear"}, {"body.*"}, true), Strings{"body.3"});
  EXPECT_EQ(of_kind({}, {}, {"body"}, true), Strings{"body"});
}

TEST(Nearest, IsAProbableNameOrEmpty) {
  EXPECT_EQ(nearest("wieght", {"bias", "weight"}), "weight");
  EXPECT_EQ(nearest("weight_hh_l9", {"weight_ih_l0", "weight_hh_l0"}), "weight_hh_l0");
  EXPECT_EQ(nearest("running_mean", {"bias", "weight"}), "");
  EXPECT_EQ(nearest("x", {}), "");
}

}  // namespace
}  // namespace loupe::test
