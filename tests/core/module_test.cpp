// Modules and models as lenses see them, the taps that lenses may watch, and the measurements that lenses share.

#include <gtest/gtest.h>
#include <loupe/detail/owned.h>
#include <loupe/error.h>
#include <loupe/event.h>
#include <loupe/host.h>

#include <set>
#include <vector>

#include "loader/component_instance.h"
#include "monitored.h"
#include "pipeline/optimizer_facts.h"
#include "says.h"

namespace loupe {
namespace {

constexpr uint32_t root = LOUPE_MODULE_ROOT, leaf = LOUPE_MODULE_LEAF;

std::shared_ptr<ModelNode> net() {
  return std::make_shared<ModelNode>("net", "net", "torch::nn::NetImpl");
}

TEST(Model, LivesAsLongAsOneOfItsModules) {
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

TEST(Model, IsDestroyedWithItsLastModule) {
  Monitored it("lenses: [probe_lens]\n");
  auto model = net();
  auto module = it.add("fc", leaf, model);
  const std::weak_ptr<ModelNode> known = model;
  model = nullptr;
  it.monitor.remove_module(module);
  module = nullptr;
  EXPECT_TRUE(known.expired());
}

TEST(Module, IsForgottenOnlyOnceIfItIsRemovedTwice) {
  Monitored it("lenses: [probe_lens]\n");
  const auto quiet = it.add("quiet"), busy = it.add("busy");
  Monitored::forward(*busy, {1});
  for (int i = 0; i < 2; ++i) {
    it.monitor.remove_module(quiet);
    it.monitor.remove_module(busy);
  }
  EXPECT_EQ(it.stage.take_notes("lens forget"), Texts{"lens forget quiet"});
  it.tick();
  it.monitor.remove_module(busy);
  EXPECT_EQ(it.stage.take_notes("lens forget"), Texts{"lens forget busy"});
}

TEST(Module, ThatOnlyPreprocessorsOfItsLensSawStaysUntilTheLensReports) {
  Monitored it("lenses: [health]\n");
  const auto layer = it.add("fc", leaf | LOUPE_MODULE_TAPPED);
  Monitored::forward(*layer, {1, 2});
  it.monitor.remove_module(layer);
  EXPECT_EQ(it.monitor.modules().size(), 1U);
  it.tick();
  EXPECT_EQ(it.monitor.modules().size(), 0U);
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

TEST(Optimizer, ListsTheParametersOfEachGroupAndPointsAtItsModel) {
  const loupe_module module{.struct_size = sizeof(loupe_module), .name = "fc"};
  const loupe_model model{.struct_size = sizeof(loupe_model), .name = "m"};
  const auto held = [&](std::size_t parameter) {
    return loupe_held_parameter{sizeof(loupe_held_parameter), 0, &module, parameter};
  };
  OptimizerFacts facts(1, "m", "SGD");
  const std::vector<GroupFacts> groups(2);
  facts.set_groups(groups);
  facts.set_parameters({{held(0), held(2)}, {}}, &model);
  for (int step = 0; step < 2; ++step) {
    facts.set_groups(groups);  // each step does so
    const loupe_optimizer& optimizer = facts.get();
    EXPECT_EQ(optimizer.model, &model);
    ASSERT_EQ(optimizer.group_count, 2U);
    ASSERT_EQ(optimizer.groups[0]->parameter_count, 2U);
    EXPECT_EQ(optimizer.groups[0]->parameters[1]->module, &module);
    EXPECT_EQ(optimizer.groups[0]->parameters[1]->index, 2U);
    EXPECT_EQ(optimizer.groups[1]->parameter_count, 0U);
  }
}

TEST(ModelCopy, CanBeReadAfterTheModelWasDestroyed) {
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

TEST(ModelCopy, OfASingleModuleHasNoParentAndNoModel) {
  Monitored it("lenses: [probe_lens]\n");
  const auto model = net();
  const auto parent = it.add("net", root, model);
  const detail::Owned<loupe_module> copy(*it.add("fc", leaf, model, parent.get())->c_module());
  EXPECT_EQ(copy.get().parent, nullptr);
  EXPECT_EQ(copy.get().model, nullptr);
}

TEST(ModelCopy, CanBeUsedToAskTheHostForFlags) {
  Monitored it("lenses: [probe_lens]\n");
  const auto model = net();
  const auto layer = it.add("fc", leaf, model);
  const detail::Owned<loupe_model> copy(*model->c_model());
  layer->set_parameter_flag(0, LOUPE_PARAMETER_OPTIMIZED, true);
  const ComponentHost component("the test", &it.monitor);
  EXPECT_EQ(Host(component.get()).parameter_flags(copy.get().modules[0], 0),
            uint32_t{LOUPE_PARAMETER_TRAINABLE | LOUPE_PARAMETER_OPTIMIZED});
}

TEST(ParameterFlags, OfARemovedModuleAreThoseOfItsAttachment) {
  Monitored it("lenses: [probe_lens]\n");
  const auto layer = it.add("fc");
  layer->set_parameter_flag(0, LOUPE_PARAMETER_OPTIMIZED, true);
  it.monitor.remove_module(layer);
  const ComponentHost component("the test", &it.monitor);
  EXPECT_EQ(Host(component.get()).parameter_flags(layer->c_module(), 0), uint32_t{LOUPE_PARAMETER_TRAINABLE});
}

TEST(ParameterFlags, OfAnUnknownParameterAreRefusedWithAMessage) {
  Monitored it("lenses: [probe_lens]\n");
  const auto layer = it.add("fc");
  const ComponentHost component("the test", &it.monitor);
  const Host host(component.get());
  uint32_t flags = 77;
  detail::ErrorBuffer error;
  EXPECT_EQ(host.parameters()->flags(host.context(), layer->c_module(), 1, &flags, error.get()), LOUPE_NOT_FOUND);
  EXPECT_STREQ(error.text(), "the module 'fc' is detached, or has no parameter with the index 1");
  EXPECT_EQ(flags, 77U);
}

constexpr uint32_t evaluation_pass = 0;

/// The addresses of the measurements that the preprocessors received.
std::set<std::string> measurements_seen(const Stage& stage) {
  std::set<std::string> places;
  for (const std::string id : {"lens", "other"}) {
    for (const std::string& note : stage.take_notes(id + ".numbers measurement "))
      places.insert(note.substr(note.rfind(' ')));
  }
  return places;
}

TEST(Sharing, TwoLensesWithTheSameRequestShareAMeasurement) {
  Monitored two(
      "lenses:\n  - probe_lens: {measures: previous}\n"
      "  - {probe: {id: other, measures: previous}, as: other}\n");
  const auto layer = two.add("conv");
  EXPECT_EQ(layer->gatherers().size(), 1u);
  Monitored::forward(*layer, std::vector<float>(1000, 1.0f));
  EXPECT_EQ(two.stage.take_notes("probe_forward event"), Texts{"probe_forward event 0"});
  EXPECT_EQ(two.stage.take_notes("lens.numbers process").size(), 1u);
  EXPECT_EQ(two.stage.take_notes("other.numbers process").size(), 1u);
  EXPECT_EQ(measurements_seen(two.stage).size(), 1u);
  Monitored::forward(*layer, std::vector<float>(1000, 2.0f));
  two.monitor.tick(std::nullopt);
  EXPECT_EQ(two.shown("conv", "dot_previous", "Probe"), 2000);  // two measurements would compare the event with itself
  EXPECT_EQ(two.shown("conv", "dot_previous", "Probe (other)"), 2000);
}

TEST(Sharing, DifferentMeasuresOfOneStreamShareAMeasurement) {
  Layered it("lenses:\n  - probe_lens: {measures: sums}\n  - {probe: {id: other, measures: activity}, as: other}\n");
  it.forward({1, 2});
  EXPECT_EQ(measurements_seen(it.stage).size(), 1u);
}

TEST(Sharing, AGathererWithDifferentOptionsIsSeparate) {
  Monitored it("lenses:\n  - probe_lens: {kinds: ['a,b']}\n  - {probe: {id: other, kinds: [a, b]}, as: other}\n");
  EXPECT_EQ(it.add("conv")->gatherers().size(), 2u);
}

TEST(Sharing, AnotherLensWithMorePassesDoesNotChangeComparisons) {
  for (const bool accompanied : {false, true}) {
    Layered it(std::string("lenses:\n  - probe_lens: {measures: [previous, change], passes: training}\n") +
               (accompanied ? "  - {probe: {id: other, measures: [previous, change]}, as: other}\n" : ""));
    it.forward({1, 0});
    it.forward({50, 50}, evaluation_pass);
    it.forward({3, 4});
    it.tick();
    EXPECT_EQ(it.shown("conv", "dot_previous", "Probe"), 3) << accompanied;
    EXPECT_EQ(it.shown("conv", "change", "Probe"), 4 + 16) << accompanied;
    if (accompanied) {
      EXPECT_EQ(it.shown("conv", "dot_previous", "Probe (other)"), 350);
    }
  }
}

TEST(Sharing, SparseEventsAreComparedWithNone) {
  Layered it(
      "lenses:\n  - probe_lens: {measures: [previous, change]}\n"
      "  - {probe: {id: other, measures: sums, sparse: true}, as: other}\n");
  it.forward({1, 0});
  EXPECT_EQ(measurements_seen(it.stage).size(), 1u);
  it.forward({50, 50}, training_pass | LOUPE_EVENT_SPARSE);
  it.forward({2, 0});
  it.tick();
  EXPECT_EQ(it.shown("conv", "dot_previous", "Probe"), 0);
  EXPECT_EQ(it.shown("conv", "change", "Probe"), 0);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe (other)"), 3);
  it.forward({3, 4});
  it.tick();
  EXPECT_EQ(it.shown("conv", "dot_previous", "Probe"), 6);
}

TEST(Sharing, EachPreprocessorGetsItsRequestedPasses) {
  Layered it("lenses:\n  - probe_lens: {passes: training}\n  - {probe: {id: other, passes: evaluation}, as: other}\n");
  it.forward({1});
  it.forward({2}, evaluation_pass);
  it.forward({3}, evaluation_pass);
  it.tick();
  EXPECT_EQ(it.shown("conv", "sum count", "Probe"), 1);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe (other)"), 2);
  EXPECT_EQ(it.shown("conv", "sum", "Probe (other)"), 3);
}

TEST(Sharing, NothingIsMeasuredIfNoLensRequestsIt) {
  Layered it("lenses: [probe_lens: {measures: none}]\n");
  it.forward({1});
  EXPECT_TRUE(measurements_seen(it.stage).empty());
}

TEST(Sharing, TheFirstEventIsComparedWithAPrimedValue) {
  Layered it("lenses: [probe_lens: {measures: change}]\n");
  const FloatTensor before({1, 1});
  it.layer->stream(LOUPE_TAP_FORWARD)->prime(*before.get());
  it.forward({2, 3});
  it.tick();
  EXPECT_EQ(it.shown("conv", "change"), 1 + 4);
}

/// The message with which the host refuses to watch a tap; empty if it accepts.
std::string refusal_of(uint32_t tap, const std::string& label) {
  Monitored it("lenses: [probe_lens]\n");
  try {
    it.add("fc")->stream_to_subscribe(tap, label, 0);
    return "";
  } catch (const Error& refusal) {
    return refusal.what();
  }
}

TEST(Taps, OfAttributesAreWatchedByTheirNames) {
  for (const uint32_t tap : {LOUPE_TAP_ATTRIBUTE, LOUPE_TAP_ATTRIBUTE_BEFORE}) {
    EXPECT_EQ(refusal_of(tap, "weight"), "");
    EXPECT_SAYS(refusal_of(tap, "gate"), "'fc' has no 'gate' for the attribute ");
    EXPECT_SAYS(refusal_of(tap, ""), "needs a name; give it as the label");
  }
}

TEST(Taps, OfForwardsHaveNoLabels) {
  EXPECT_EQ(refusal_of(LOUPE_TAP_FORWARD, ""), "");
  EXPECT_EQ(refusal_of(LOUPE_TAP_FORWARD, "weight"),
            "forward has no label, but got 'weight'; attributes and parameters come at LOUPE_TAP_ATTRIBUTE and "
            "LOUPE_TAP_ATTRIBUTE_BEFORE");
  EXPECT_SAYS(refusal_of(LOUPE_TAP_FORWARD_BEFORE, "weight"), "the entry of forward has no label");
}

TEST(Taps, ThatDoNotExistAreRefused) {
  EXPECT_SAYS(refusal_of(LOUPE_TAP_ATTRIBUTE + 1, ""), "an unknown tap cannot be watched on 'fc'");
}

}  // namespace
}  // namespace loupe
