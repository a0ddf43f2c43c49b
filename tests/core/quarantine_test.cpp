#include <gtest/gtest.h>
#include <loupe/error.h>

#include <regex>

#include "monitored.h"

namespace loupe {
namespace {

const char* const two_lenses =
    "lenses:\n  - probe_lens\n  - {probe: {id: other}, as: other}\nvisualizers: [probe_visualizer]\n";

/// The message about a lens that failed in this place at this step.
std::string told(const std::string& lens, const std::string& where, const std::string& step) {
  return "the lens '" + lens + "' of " + test_plugin("probe") + " failed at " + where + ": the test wants '" + step +
         "' to fail; it is quarantined, everything else continues (on_error: stop would stop here)";
}

/// Removes the place of the lens in the configuration, which differs between tests.
Texts placeless(Texts messages) {
  static const std::regex place(R"( \(a\.yaml:\d+:\d+\))");
  for (std::string& message : messages) message = std::regex_replace(message, place, "");
  return messages;
}

TEST(Quarantine, NamesThePlaceOfTheLensInTheConfiguration) {
  Layered it("lenses:\n  - probe_lens\n");
  it.stage.fail("lens.numbers process 0");
  it.forward({1});
  // with_probe() adds the first line.
  EXPECT_SAYS(only(it.stage.take_messages()), "probe.so (a.yaml:3:5) failed at its preprocessor");
}

TEST(Quarantine, APreprocessorThatThrowsIsNamedOnceAndOthersContinue) {
  Layered it(two_lenses);
  it.stage.fail("lens.numbers process 1");
  for (float i = 0; i < 4; ++i) it.forward({i});
  EXPECT_EQ(
      placeless(it.stage.take_messages()),
      Texts{told("probe_lens", "its preprocessor 'probe_numbers' at forward of 'conv'", "lens.numbers process 1")});
  EXPECT_EQ(it.stage.take_notes("lens.numbers process").size(), 2u);
  it.tick();
  EXPECT_EQ(it.shown("conv", "sum count", "Probe"), std::nullopt);
  EXPECT_EQ(it.shown("conv", "sum count", "Probe (other)"), 4);
  EXPECT_EQ(it.stage.take_notes("lens report").size(), 0u);
  EXPECT_EQ(it.stage.take_messages(), Texts{});
}

TEST(Quarantine, AGathererThatThrowsStopsOnlyItsLenses) {
  Layered it(
      "lenses:\n  - probe_lens\n  - {probe: {id: second}, as: second}\n"
      "  - {probe: {id: apart, kinds: own}, as: apart}\n");
  ASSERT_EQ(it.layer->gatherers().size(), 2u);  // "apart" has a separate gatherer
  it.stage.fail("probe_forward event 0");
  it.forward({1});
  // The first gatherer fails for both its lenses. The second one receives the same event and fails, too.
  EXPECT_EQ(placeless(it.stage.take_messages()),
            (Texts{told("probe_lens", "its gatherer 'probe_forward' at forward of 'conv'", "probe_forward event 0"),
                   told("second", "its gatherer 'probe_forward' at forward of 'conv'", "probe_forward event 0"),
                   told("apart", "its gatherer 'probe_forward' at forward of 'conv'", "probe_forward event 0")}));
  it.stage.take_notes();
  it.forward({1});
  EXPECT_EQ(it.stage.take_notes(), Texts{});
}

TEST(Quarantine, ALensIsReportedOnceEvenIfSeveralSourcesFail) {
  Layered it("lenses: [probe_lens: {twice: true}]\n");
  it.stage.fail("probe_forward event 0");
  it.forward({1});
  EXPECT_EQ(it.stage.take_messages().size(), 1u);
}

TEST(Quarantine, AGathererThatThrowsDoesNotStopLensesOnOtherGatherers) {
  Layered it("lenses:\n  - probe_lens: {pushes: true}\n  - {probe: {id: other, pushes: true}, as: other}\n");
  it.stage.fail("probe_push event 0");
  it.monitor.push("loss", 1, 0);
  EXPECT_EQ(it.stage.take_messages().size(), 2u);
  for (const auto& lens : it.monitor.lenses()) EXPECT_TRUE(lens->quarantined());

  Monitored apart("lenses:\n  - probe_lens: {pushes: true}\n  - {probe: {id: other}, as: other}\n");
  const auto other_layer = apart.add("conv");
  apart.stage.fail("probe_push event 0");
  apart.monitor.push("loss", 1, 0);
  Monitored::forward(*other_layer, {3});
  apart.monitor.tick(std::nullopt);
  EXPECT_EQ(apart.shown("conv", "sum", "Probe (other)"), 3);
  EXPECT_EQ(
      placeless(apart.stage.take_messages()),
      Texts{told("probe_lens", "its gatherer 'probe_push' at a push of the pushed values", "probe_push event 0")});
}

struct Place {
  const char* step;
  const char* where;
};
class QuarantineOfALens : public testing::TestWithParam<Place> {};

TEST_P(QuarantineOfALens, IsReportedOnceAndOthersContinue) {
  Stage stage;
  stage.fail(GetParam().step);
  Monitor monitor(Config::from_text(with_probe(two_lenses), "a.yaml", "/"));
  ModuleDescription description;
  description.name = "conv";
  description.flags = LOUPE_MODULE_LEAF;
  const auto layer = monitor.add_module(description);
  for (int epoch = 1; epoch <= 3; ++epoch) {
    Monitored::forward(*layer, {1});
    monitor.tick(std::nullopt);
  }
  EXPECT_EQ(placeless(stage.take_messages()), Texts{told("probe_lens", GetParam().where, GetParam().step)});
  EXPECT_EQ(stage.take_notes(GetParam().step).size(), 1u);  // the step is not called again
  EXPECT_EQ(stage.take_notes("shown value Probe (other)/conv/sum 1").size(), 3u);
  EXPECT_EQ(stage.take_notes("shown end_tick").size(), 3u);
  EXPECT_TRUE(monitor.lenses()[0]->quarantined());
  EXPECT_FALSE(monitor.lenses()[1]->quarantined());
  layer->close();
  monitor.tick(std::nullopt);
  EXPECT_EQ(stage.take_notes("lens forget").size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Places, QuarantineOfALens,
                         testing::Values(Place{"lens attach", "its start"},
                                         Place{"lens visit conv", "the visit of 'conv'"},
                                         Place{"lens report 1", "the report of the epoch"},
                                         Place{"lens.numbers request", "the visit of 'conv'"},
                                         Place{"lens.numbers create", "the visit of 'conv'"}));

TEST(Quarantine, AnUnknownNameInAWatchIsReportedWithTheNearest) {
  Monitored it("lenses: [probe_lens: {gatherer: probe_foward}]\n");
  it.add("conv");
  EXPECT_SAYS(only(it.stage.take_messages()),
              "failed at the visit of 'conv': there is no gatherer 'probe_foward'; did you mean 'probe_forward'?");
  Monitored other("lenses: [probe_lens: {preprocessor: probe_number}]\n");
  other.add("conv");
  EXPECT_SAYS(only(other.stage.take_messages()),
              "there is no preprocessor 'probe_number'; did you mean 'probe_numbers'?");
}

TEST(Quarantine, AWatchOfAParameterThatTheModuleLacksIsReported) {
  Monitored it("lenses: [probe_lens: {gatherer: probe_gradient, label: bias}]\n");
  it.add("conv");
  EXPECT_SAYS(only(it.stage.take_messages()), "'conv' has no 'bias' for the parameter's gradient");
}

TEST(Quarantine, AWatchOfPushesOnAModuleIsReported) {
  Monitored it("lenses: [probe_lens: {gatherer: probe_push}]\n");
  it.add("conv");
  EXPECT_SAYS(only(it.stage.take_messages()), "a push cannot be watched on 'conv'");
}

TEST(Quarantine, AWatchOfALossInputOnANestedModuleIsReported) {
  Monitored it("lenses: [probe_lens: {gatherer: probe_loss_input}]\n");
  it.add("conv");
  EXPECT_SAYS(only(it.stage.take_messages()), "seen only at a model's root, not on 'conv'");
}

class OnErrorStop : public testing::TestWithParam<const char*> {};

TEST_P(OnErrorStop, ThrowsTheErrorToTheTrainer) {
  Stage stage;
  stage.fail(GetParam());
  std::string thrown;
  try {
    Monitor monitor(
        Config::from_text(with_probe("on_error: stop\nlenses: [probe_lens: {pushes: true}]\n"), "a.yaml", "/"));
    ModuleDescription description;
    description.name = "conv";
    description.flags = LOUPE_MODULE_LEAF;
    const auto layer = monitor.add_module(description);
    monitor.push("loss", 1, 0);
    Monitored::forward(*layer, {1});
    monitor.tick(std::nullopt);
  } catch (const Error& e) {
    thrown = e.what();
  }
  EXPECT_BEGINS(thrown, "the lens 'probe_lens' of " + test_plugin("probe") + " (a.yaml:");
  EXPECT_SAYS(thrown, ") failed at ");
  EXPECT_SAYS(thrown, ": the test wants '" + std::string(GetParam()) + "' to fail");
  EXPECT_EQ(stage.take_messages(), Texts{});
}

INSTANTIATE_TEST_SUITE_P(Places, OnErrorStop,
                         testing::Values("lens attach", "lens visit conv", "lens report 1", "lens.numbers process 0",
                                         "probe_push event 0", "probe_forward event 0"));

TEST(OnErrorStop, DoesNotApplyToVisualizers) {
  Monitored it("on_error: stop\nlenses: [probe_lens]\nvisualizers: [probe_visualizer]\n");
  it.stage.fail("shown begin_tick*");
  it.tick();
  EXPECT_EQ(it.stage.take_messages().size(), 1u);
}

}  // namespace
}  // namespace loupe
