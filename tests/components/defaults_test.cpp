#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>

#include "../option_default.h"
#include "built_in.h"

namespace loupe {
namespace {

using Defaults = std::map<std::string, std::string>;

/// The options of a lens, with each default as YAML in one line.
Defaults declared(const std::string& lens) {
  Defaults defaults;
  for (const loupe_option* option : built_in().find(Kind::lens, lens)->options()) {
    YAML::Emitter text;
    text << YAML::Flow << YAML::Load(test::default_text(*option));
    defaults[option->name] = text.c_str();
  }
  return defaults;
}

Defaults operator+(Defaults all, const Defaults& more) {
  all.insert(more.begin(), more.end());
  return all;
}

const Defaults kGeometry = {{"inplace", "true"},      {"normalize_by_size", "false"}, {"log_scale", "false"},
                            {"line", "[mean]"},       {"range", "[std, min-max]"},    {"compute_correlation", "true"},
                            {"correlation_eps", "0"}, {"first_correlation", "false"}};
const Defaults kParameters = {{"parameters", "[*]"}, {"include", "[]"}, {"exclude", "[]"}};
const Defaults kEvaluation = {
    {"record_eval", "false"}, {"evaluation_from_grad", "false"}, {"include", "[]"}, {"exclude", "[]"}, {"output", "0"}};
const Defaults kRates = {
    {"inplace", "true"}, {"warning_plot", "true"}, {"activation_aggregation", "mean"}, {"death_aggregation", "mean"}};

void expect_declared(const std::string& lens, const Defaults& expected) {
  const Defaults actual = declared(lens);
  for (const auto& [name, value] : expected) {
    const auto found = actual.find(name);
    ASSERT_NE(found, actual.end()) << lens << " has no " << name;
    // Ignore quotes, which emitters use differently.
    std::string text = found->second;
    text.erase(std::remove(text.begin(), text.end(), '"'), text.end());
    EXPECT_EQ(text, value) << lens << "." << name;
  }
  EXPECT_EQ(actual.size(), expected.size()) << lens << " has an option that this test does not know";
}

TEST(LensDefaults, OfLossMetrics) {
  expect_declared("loss_metrics", {{"metrics", "[]"},
                                   {"evaluation_from_grad", "true"},
                                   {"separate_loss_and_metrics", "true"},
                                   {"loss_fn", "true"},
                                   {"loss_fn_inplace", "true"},
                                   {"loss_line", "[mean]"},
                                   {"loss_range", "[std]"},
                                   {"metrics_line", "[mean]"},
                                   {"metrics_range", "[]"}});
}

TEST(LensDefaults, OfLearningRate) {
  expect_declared("learning_rate", {{"momentum", "false"}, {"log_scale", "false"}});
}

TEST(LensDefaults, OfTheOutputLenses) {
  expect_declared(
      "output_activation",
      kEvaluation + kRates +
          Defaults{{"activation", "true"}, {"dropout", "true"}, {"eps", "1e-08"}, {"channel_last", "false"}});
  expect_declared("output_norm", kEvaluation + Defaults{{"inplace", "true"},
                                                        {"channel_last", "false"},
                                                        {"normalize_by_size", "false"},
                                                        {"log_scale", "false"},
                                                        {"line", "[mean]"},
                                                        {"range", "[std, min-max]"},
                                                        {"activation", "true"},
                                                        {"comparison_plot", "true"},
                                                        {"comparison_aggregation", "none"}});
  expect_declared(
      "output_gradient_geometry",
      kGeometry + Defaults{{"skip_activation", "true"}, {"include", "[]"}, {"exclude", "[]"}, {"output", "0"}});
}

TEST(LensDefaults, OfTheParameterLenses) {
  expect_declared("parameter_gradient_geometry", kGeometry + kParameters + Defaults{{"gradient", "accumulated"}});
  expect_declared("parameter_gradient_activation", kRates + kParameters + Defaults{{"gradient", "accumulated"}});
  expect_declared("parameter_difference", kGeometry + kParameters);
  expect_declared(
      "update_ratio",
      kParameters + Defaults{{"inplace", "true"}, {"log_scale", "true"}, {"line", "[mean, max]"}, {"range", "[]"}});
  expect_declared("parameter_norm", kParameters + Defaults{{"inplace", "true"},
                                                           {"normalize_by_size", "false"},
                                                           {"log_scale", "false"},
                                                           {"comparison_plot", "true"},
                                                           {"aggregation_method", "mean"}});
  expect_declared("parameter_condition", {{"inplace", "true"},
                                          {"parameters", "[weights]"},
                                          {"include", "[]"},
                                          {"exclude", "[]"},
                                          {"log_scale", "false"},
                                          {"aggregation", "mean"}});
}

}  // namespace
}  // namespace loupe
