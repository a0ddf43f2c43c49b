// The settings that Loupe reads from LibTorch's optimizers, by the names of the lenses' interface.

#include "torch/taps/optimizer_reader.h"

#include <gtest/gtest.h>
#include <loupe/detail/parameter_group.h>
#include <torch/torch.h>

#include <limits>
#include <map>
#include <string>

namespace loupe {
namespace {

using namespace torch::optim;
using Settings = std::map<std::string, double>;

std::vector<GroupFacts> read(const Optimizer& optimizer) {
  std::vector<GroupFacts> groups;
  read_groups(optimizer, groups);
  return groups;
}

/// All settings of the first group, as lenses get them.
Settings settings_of(const Optimizer& optimizer) {
  OptimizerFacts facts(1, "", optimizer_type(optimizer));
  facts.set_groups(read(optimizer));
  const loupe_parameter_group& group = *facts.get().groups[0];
  Settings settings;
  if (const auto rate = learning_rate_of(group)) settings["lr"] = *rate;
  if (const auto decay = weight_decay_of(group)) settings["weight_decay"] = *decay;
  for (std::size_t i = 0; group.settings != nullptr && i < group.settings->value_count; ++i) {
    const char* name = group.settings->values[i]->name;
    settings[name] = setting_of(group, name).value_or(std::numeric_limits<double>::quiet_NaN());
  }
  return settings;
}

/// A program's own optimizer, whose options Loupe does not know.
class Own : public Optimizer {
 public:
  struct Options : OptimizerCloneableOptions<Options> {};
  explicit Own(std::vector<torch::Tensor> parameters)
      : Optimizer({OptimizerParamGroup(std::move(parameters))}, std::make_unique<Options>()) {}
  torch::Tensor step(LossClosure) override { return {}; }
};

const std::vector<torch::Tensor>& parameters() {
  static const std::vector<torch::Tensor> all = {torch::ones({2, 3}, torch::requires_grad())};
  return all;
}

TEST(OptimizerSettings, AreReadFromEachType) {
  EXPECT_EQ(
      settings_of(Adam(parameters(), AdamOptions(0.5).betas({0.8, 0.9}).eps(1e-6).amsgrad(true))),
      (Settings{{"lr", 0.5}, {"weight_decay", 0}, {"beta1", 0.8}, {"beta2", 0.9}, {"eps", 1e-6}, {"amsgrad", 1}}));
  EXPECT_EQ(settings_of(AdamW(parameters(), AdamWOptions(0.5).weight_decay(0.25))).at("weight_decay"), 0.25);
  EXPECT_EQ(settings_of(SGD(parameters(), SGDOptions(0.5).momentum(0.9).nesterov(true))),
            (Settings{{"lr", 0.5}, {"weight_decay", 0}, {"momentum", 0.9}, {"dampening", 0}, {"nesterov", 1}}));
  EXPECT_EQ(
      settings_of(RMSprop(parameters(), RMSpropOptions(0.5).alpha(0.75).centered(true).eps(0.125))),
      (Settings{{"lr", 0.5}, {"weight_decay", 0}, {"momentum", 0}, {"alpha", 0.75}, {"eps", 0.125}, {"centered", 1}}));
  EXPECT_EQ(settings_of(Adagrad(parameters(), AdagradOptions(0.5).lr_decay(0.25))).at("lr_decay"), 0.25);
  const Settings lbfgs = settings_of(LBFGS(parameters(), LBFGSOptions(0.5).max_iter(7)));
  EXPECT_EQ(lbfgs.at("max_iter"), 7);
  EXPECT_EQ(lbfgs.count("weight_decay"), 0U) << "no setting is different from 0";
}

TEST(OptimizerSettings, AreEmptyForAnUnknownOptimizer) {
  EXPECT_EQ(settings_of(Own(parameters())), Settings());
  const std::vector<GroupFacts> groups = read(Own(parameters()));
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].group.element_count, 6);
}

TEST(OptimizerSettings, KeepTheirAddressesWhenOnlyNumbersChange) {
  SGD optimizer(parameters(), SGDOptions(0.5).momentum(0.9));
  OptimizerFacts facts(1, "", "SGD");
  facts.set_groups(read(optimizer));
  const loupe_parameter_group* group = facts.get().groups[0];
  const loupe_option_value* first = group->settings->values[0];
  static_cast<SGDOptions&>(optimizer.param_groups()[0].options()).momentum(0.25);
  facts.set_groups(read(optimizer));
  EXPECT_EQ(facts.get().groups[0], group);
  EXPECT_EQ(group->settings->values[0], first);
  EXPECT_EQ(momentum_of(*group), 0.25);
}

TEST(OptimizerSettings, AreTheDefaultsForAGroupWithoutOptions) {
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(parameters());
  SGD optimizer(groups, SGDOptions(0.5).momentum(0.75));
  EXPECT_EQ(settings_of(optimizer).at("momentum"), 0.75);
}

}  // namespace
}  // namespace loupe
