#include <gtest/gtest.h>
#include <loupe/parameters.h>

#include <optional>

#include "fake.h"

namespace loupe::test {
namespace {

/// The title of the plot and the name of each parameter that a lens measures, in the order of the plots.
Strings shown(const Strings& names, const std::vector<const FakeModule*>& modules) {
  std::optional<Parameters> parameters;
  with_options({{"parameters", names}, {"include", Strings{}}, {"exclude", Strings{}}},
               [&](const Options& options) { parameters.emplace(options); });
  for (const FakeModule* each : modules) parameters->visit(each->module(), [](const char*) { return Source(); });
  Strings lines;
  for (const auto& role : *parameters) {
    for (const Layer& layer : role.layers) lines.push_back(role.title + " " + layer.name);
  }
  return lines;
}

const FakeModule linear("fc", "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF, {{"bias", 1}, {"weight", 2}});
const FakeModule norm("norm", "LayerNorm", LOUPE_FAMILY_NORMALIZATION, LOUPE_MODULE_LEAF, {{"weight", 1}, {"bias", 1}});
const FakeModule lstm("lstm", "LSTM", LOUPE_FAMILY_RECURRENT, LOUPE_MODULE_LEAF,
                      {{"weight_ih_l0", 2}, {"weight_hh_l0", 2}, {"bias_ih_l0", 1}});
const FakeModule root("", "Net", LOUPE_FAMILY_OTHER, LOUPE_MODULE_ROOT, {{"scale", 0}, {"shift", 1}, {"mix", 2}});

TEST(Parameters, ShowsWeightsFirstAndKeepsTheNamesOfOrdinaryLayers) {
  EXPECT_EQ(shown({"*"}, {&linear, &norm}), (Strings{"Weight fc", "Weight norm", "Bias fc", "Bias norm"}));
}

TEST(Parameters, NamesEachParameterIfALayerHasSeveralOfARole) {
  EXPECT_EQ(shown({"*"}, {&lstm}), (Strings{"Weight lstm.weight_ih_l0", "Weight lstm.weight_hh_l0", "Bias lstm"}));
  EXPECT_EQ(shown({"*_hh_*"}, {&lstm}), Strings{"Weight lstm.weight_hh_l0"});
  EXPECT_EQ(shown({"*"}, {&root}), (Strings{"Weight ", "Bias scale", "Bias shift"}));
}

TEST(Parameters, AcceptsNamesGlobsAndRoles) {
  EXPECT_EQ(shown({"weight"}, {&linear, &lstm}), Strings{"Weight fc"});
  EXPECT_EQ(shown({"biases"}, {&linear, &lstm}), (Strings{"Bias fc", "Bias lstm"}));
  EXPECT_EQ(shown({"weights"}, {&norm, &root}), (Strings{"Weight norm", "Weight "}));
  EXPECT_EQ(shown({"none"}, {&linear}), Strings{});
}

}  // namespace
}  // namespace loupe::test
