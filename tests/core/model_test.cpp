// A model, its modules and its parameters, as lenses and visualizers may ask of them.

#include <gtest/gtest.h>
#include <loupe/detail/owned.h>
#include <loupe/event.h>
#include <loupe/host.h>

#include "loader/component_instance.h"
#include "monitored.h"

namespace loupe {
namespace {

constexpr uint32_t root = LOUPE_MODULE_ROOT, leaf = LOUPE_MODULE_LEAF;

std::shared_ptr<ModelNode> net() {
  return std::make_shared<ModelNode>("net", "net", "torch::nn::NetImpl");
}

TEST(Model, LivesAsLongAsAnyOfItsModulesIsHeld) {
  Monitored it("lenses: [probe_lens]\n");
  auto model = net();
  auto parent = it.add("net", root, model);
  const auto child = it.add("fc", leaf, model, parent.get());
  it.monitor.remove_module(child);
  it.monitor.remove_module(parent);
  const std::weak_ptr<ModelNode> known = model;
  model = nullptr;
  parent = nullptr;
  ASSERT_FALSE(known.expired());
  EXPECT_STREQ(child->c_module()->parent->name, "net");
  EXPECT_STREQ(child->c_module()->model->own_name, "net");
}

TEST(Model, IsGoneWithItsLastModule) {
  Monitored it("lenses: [probe_lens]\n");
  auto model = net();
  auto module = it.add("fc", leaf, model);
  const std::weak_ptr<ModelNode> known = model;
  model = nullptr;
  it.monitor.remove_module(module);
  module = nullptr;
  EXPECT_TRUE(known.expired());
}

TEST(Model, ListsWhatIsRegisteredAndCountsItsElements) {
  Monitored it("lenses: [probe_lens]\n");
  const auto model = net();
  const auto parent = it.add("net", root, model);
  const auto child = it.add("fc", leaf, model, parent.get());
  const auto function = it.add("fc:relu", leaf | LOUPE_MODULE_FUNCTIONAL, model, child.get());
  const loupe_model& told = *model->c_model();
  ASSERT_EQ(told.module_count, 2U);
  EXPECT_EQ(told.modules[1], child->c_module());
  EXPECT_EQ(told.parameter_element_count, 12);
  EXPECT_EQ(function->c_module()->parent, child->c_module());
  EXPECT_EQ(function->c_module()->model, &told);
}

TEST(Model, HasNoLoss) {
  Monitored it("lenses: [probe_lens]\n");
  const auto loss = it.add("loss", leaf | LOUPE_MODULE_LOSS, net());
  EXPECT_EQ(loss->c_module()->model, nullptr);
  EXPECT_STREQ(Module(loss->c_module()).model(), "");
}

TEST(ModelCopy, MayBeAskedAnythingWhenTheModelIsGone) {
  std::unique_ptr<detail::Owned<loupe_model>> copy;
  {
    Monitored it("lenses: [probe_lens]\n");
    const auto model = net();
    const auto parent = it.add("net", root, model);
    it.add("fc", leaf, model, parent.get());
    copy = std::make_unique<detail::Owned<loupe_model>>(*model->c_model());
  }
  const loupe_model& told = copy->get();
  EXPECT_STREQ(told.own_name, "net");
  ASSERT_EQ(told.module_count, 2U);
  EXPECT_EQ(told.modules[0]->parent, nullptr);
  EXPECT_EQ(told.modules[1]->parent, told.modules[0]);
  for (std::size_t i = 0; i < told.module_count; ++i) {
    const loupe_module& module = *told.modules[i];
    EXPECT_EQ(module.model, &told);
    ASSERT_EQ(module.parameter_count, 1U);
    EXPECT_STREQ(module.parameters[0]->name, "weight");
    EXPECT_EQ(module.parameters[0]->sizes[1], 3);
  }
}

TEST(ModelCopy, OfAModuleAlonePointsNowhere) {
  Monitored it("lenses: [probe_lens]\n");
  const auto model = net();
  const auto parent = it.add("net", root, model);
  const detail::Owned<loupe_module> copy(*it.add("fc", leaf, model, parent.get())->c_module());
  EXPECT_EQ(copy.get().parent, nullptr);
  EXPECT_EQ(copy.get().model, nullptr);
}

TEST(ModelCopy, IsGoodToAskTheHostForFlags) {
  Monitored it("lenses: [probe_lens]\n");
  const auto model = net();
  const auto layer = it.add("fc", leaf, model);
  const detail::Owned<loupe_model> copy(*model->c_model());
  layer->set_parameter_flag(0, LOUPE_PARAMETER_OPTIMIZED, true);
  const ComponentHost component("the test", &it.monitor);
  EXPECT_EQ(Host(component.get()).parameter_flags(copy.get().modules[0], 0),
            uint32_t{LOUPE_PARAMETER_TRAINABLE | LOUPE_PARAMETER_OPTIMIZED});
}

TEST(ParameterFlags, AreThoseOfTheAttachmentWhereTheModuleIsGone) {
  Monitored it("lenses: [probe_lens]\n");
  const auto layer = it.add("fc");
  layer->set_parameter_flag(0, LOUPE_PARAMETER_OPTIMIZED, true);
  it.monitor.remove_module(layer);
  const ComponentHost component("the test", &it.monitor);
  EXPECT_EQ(Host(component.get()).parameter_flags(layer->c_module(), 0), uint32_t{LOUPE_PARAMETER_TRAINABLE});
}

TEST(ParameterFlags, OfAParameterThatThereIsNotAreRefusedInASentence) {
  Monitored it("lenses: [probe_lens]\n");
  const auto layer = it.add("fc");
  const ComponentHost component("the test", &it.monitor);
  const Host host(component.get());
  uint32_t flags = 77;
  detail::ErrorBuffer error;
  EXPECT_EQ(host.parameters()->flags(host.context(), layer->c_module(), 1, &flags, error.get()), LOUPE_NOT_FOUND);
  EXPECT_STREQ(error.text(), "the module 'fc' is detached, or has no parameter of number 1");
  EXPECT_EQ(flags, 77U);
}

}  // namespace
}  // namespace loupe
