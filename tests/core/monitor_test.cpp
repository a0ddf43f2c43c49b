#include "pipeline/monitor.h"

#include <gtest/gtest.h>
#include <loupe/text/words.h>

#include <atomic>
#include <cmath>
#include <map>
#include <thread>

#include "monitored.h"

namespace loupe {
namespace {

TEST(Monitor, ShowsMeasurementsSinceTheLastTick) {
  Layered it("lenses: [probe_lens]\nvisualizers: [probe_visualizer]\n");
  it.forward({1, 2});
  it.forward({3, 4});
  it.tick();
  EXPECT_EQ(it.shown("conv", "sum"), 7);
  EXPECT_EQ(it.shown("conv", "sum count"), 2);
  it.forward({5, 6});
  it.tick();
  EXPECT_EQ(it.shown("conv", "sum"), 11);
  EXPECT_EQ(it.shown("conv", "sum count"), 1);
}

TEST(Monitor, TellsEveryVisualizerEverythingInOrder) {
  Layered it(
      "run: {name: r}\nlenses: [probe_lens]\nvisualizers:\n  - probe_visualizer\n"
      "  - {probe_visualizer: {id: second}, as: second}\n");
  it.forward({1, 2});
  it.tick();
  for (const std::string visualizer : {"shown", "second"}) {
    const Texts notes = it.stage.take_notes(visualizer);
    ASSERT_GE(notes.size(), 7u);
    EXPECT_EQ(notes[0], visualizer + " create");
    EXPECT_EQ(notes[1], visualizer + " begin r");
    EXPECT_EQ(notes[2], visualizer + " begin_tick 1");
    EXPECT_EQ(notes[3], visualizer + " tag Probe");
    EXPECT_EQ(notes[4], visualizer + " value Probe/conv/tap count 1");
    EXPECT_EQ(notes.back(), visualizer + " end_tick");
  }
}

TEST(Monitor, ShowsEveryModuleToEveryLensIncludingParents) {
  Monitored it("lenses:\n  - probe_lens\n  - {probe: {id: other}, as: other}\n");
  it.add("model", LOUPE_MODULE_ROOT);
  it.add("conv");
  EXPECT_EQ(it.stage.take_notes("lens "), (Texts{"lens create", "lens attach", "lens visit model", "lens visit conv"}));
  EXPECT_EQ(it.stage.take_notes("other "),
            (Texts{"other create", "other attach", "other visit model", "other visit conv"}));
}

TEST(Monitor, ATickWithoutDataShowsNoValue) {
  Monitored it("lenses: [probe_lens: {pushes: true}]\nvisualizers: [probe_visualizer]\n");
  it.tick();  // no module exists yet
  it.add("conv");
  it.tick();
  EXPECT_EQ(it.stage.take_notes("shown value").size(), 0u);
  EXPECT_EQ(it.stage.take_notes("shown end_tick").size(), 2u);
  EXPECT_EQ(it.stage.take_messages(), Texts{});
}

TEST(Monitor, ATickWithoutLensesOrVisualizersIsNothing) {
  Monitored it("");
  it.add("conv");
  it.monitor.push("loss", 1, LOUPE_EVENT_LOSS);
  it.tick();
  EXPECT_EQ(it.monitor.epoch(), 1);
  EXPECT_EQ(it.monitor.query("reports"), std::nullopt);
}

TEST(Monitor, CountsEpochsUnlessTold) {
  Monitored it("lenses: [probe_lens]\n");
  it.tick();
  it.monitor.tick(7.5);
  it.tick();
  EXPECT_EQ(it.stage.take_notes("lens report"), (Texts{"lens report 1", "lens report 7.5", "lens report 8.5"}));
  EXPECT_EQ(it.monitor.query("reports"), 3);
}

TEST(Monitor, ActiveEveryThirdEpochLooksAtTheThirdAndTheSixth) {
  Monitored it("attach: {active: 3}\nlenses: [probe_lens: {pushes: true}]\nvisualizers: [probe_visualizer]\n");
  std::vector<bool> active;
  int resumed = 0;
  it.host.on_looking_changed = [&] { resumed += it.monitor.looks() ? 1 : 0; };
  for (int epoch = 1; epoch <= 7; ++epoch) {
    active.push_back(it.monitor.active());
    it.monitor.push("loss", epoch, LOUPE_EVENT_LOSS);
    it.tick();
  }
  EXPECT_EQ(active, (std::vector<bool>{false, false, true, false, false, true, false}));
  EXPECT_EQ(it.stage.take_notes("shown begin_tick"), (Texts{"shown begin_tick 3", "shown begin_tick 6"}));
  EXPECT_EQ(it.stage.take_notes("shown value Probe/pushes/loss "),
            (Texts{"shown value Probe/pushes/loss count 1", "shown value Probe/pushes/loss 3",
                   "shown value Probe/pushes/loss count 1", "shown value Probe/pushes/loss 6"}));
  EXPECT_EQ(resumed, 2);
}

TEST(Monitor, TheTrainerMaySayWhichEpochsToLookAt) {
  Monitored it("lenses: [probe_lens]\n");
  it.monitor.set_active([](int64_t tick) { return tick == 2; });
  EXPECT_FALSE(it.monitor.active());
  for (int epoch = 1; epoch <= 3; ++epoch) it.tick();
  EXPECT_EQ(it.stage.take_notes("lens report"), Texts{"lens report 2"});
}

TEST(Monitor, PendingValuesComeBeforeTheReport) {
  Monitored it("lenses: [probe_lens: {pushes: true}]\n");
  it.host.on_before_tick = [&] { it.monitor.push("late", 4, 0); };
  it.tick();
  EXPECT_EQ(it.shown("pushes", "late"), 4);
}

TEST(Monitor, ListsTheSettingsOfItsConfigurationAndTheComponentsOfItsLenses) {
  Monitored it("run: {name: digits}\nlenses: [loss_metrics: {}, {probe_lens: {pushes: true}, as: mine}]\n");
  const loupe_run& run = it.monitor.display().c_run();
  ASSERT_EQ(run.lens_count, 2U);
  EXPECT_STREQ(run.lenses[0], "loss_metrics");
  EXPECT_STREQ(run.lenses[1], "probe_lens");
  std::map<std::string, std::string> settings;
  for (std::size_t i = 0; i < run.settings->value_count; ++i)
    settings[run.settings->values[i]->name] = setting_text(*run.settings->values[i]);
  EXPECT_EQ(settings.at("run.name"), "digits");
  EXPECT_EQ(settings.at("lenses.loss_metrics"), "true");
  EXPECT_EQ(settings.at("lenses.probe_lens.pushes"), "true");
}

TEST(Monitor, ARemovedModuleShowsOnceMoreBeforeItIsForgotten) {
  Monitored it("lenses: [probe_lens]\nvisualizers: [probe_visualizer]\n");
  auto gone = it.add("gone");
  const auto stays = it.add("stays");
  Monitored::forward(*gone, {1});
  gone->close();
  Monitored::forward(*gone, {100});  // has no effect, as the module is closed
  EXPECT_EQ(it.monitor.modules().size(), 2u);
  it.tick();
  EXPECT_EQ(it.shown("gone", "sum"), 1);
  EXPECT_EQ(it.stage.take_notes("lens forget"), Texts{"lens forget gone"});
  ASSERT_EQ(it.monitor.modules().size(), 1u);
  EXPECT_EQ(it.monitor.modules()[0], stays);
  const std::weak_ptr<ModuleNode> node = gone;
  gone.reset();
  EXPECT_TRUE(node.expired());
  it.stage.take_notes();
  it.tick();
  EXPECT_EQ(it.stage.take_notes("shown value").size(), 0u);
}

TEST(Monitor, AModuleMayOutliveTheMonitor) {
  std::shared_ptr<ModuleNode> layer;
  {
    Monitored it("lenses: [probe_lens]\n");
    layer = it.add("conv");
  }
  Monitored::forward(*layer, {1});
  EXPECT_TRUE(layer->closed());
}

TEST(Monitor, EndsVisualizersAndDestroysItsComponents) {
  Stage stage;
  {
    Monitor monitor(Config::from_text(
        with_probe("lenses: [probe_lens: {pushes: true}]\nvisualizers: [probe_visualizer]\n"), "a.yaml", "/"));
    monitor.tick(std::nullopt);
    stage.take_notes();
  }
  EXPECT_EQ(stage.take_notes("shown"), (Texts{"shown end", "shown destroy"}));
  EXPECT_EQ(stage.take_notes("lens"), (Texts{"lens destroy", "lens.numbers destroy"}));
  EXPECT_EQ(stage.take_notes("probe_push"), Texts{"probe_push destroy"});
}

TEST(Monitor, ANamedLensHasSeparateTags) {
  Layered it("lenses:\n  - probe_lens\n  - {probe: {id: other, measures: none}, as: mine}\n");
  it.forward({1, 2});
  it.tick();
  EXPECT_EQ(it.shown("conv", "sum", "Probe"), 3);
  EXPECT_EQ(it.shown("conv", "sum", "Probe (mine)"), std::nullopt);
  EXPECT_EQ(it.shown("conv", "tensor", "Probe (mine)"), 1);
}

TEST(Monitor, StepsReachTheVisualizersAsProgressAfterTheStartOfTheRun) {
  Monitored it("visualizers: [probe_visualizer]\n");
  // The monitor sends progress only a few times a second, so it may take some steps.
  Texts notes;
  while (notes.empty()) {
    it.monitor.note_step();
    notes = it.stage.take_notes("shown progress");
  }
  EXPECT_EQ(it.stage.take_notes("shown"), (Texts{"shown create", "shown begin a"}));
}

TEST(Monitor, ProblemsOfPluginsInASearchFolderAreWarnings) {
  const Folder folder;
  folder.write("poem.so", "roses are red\n");
  const Stage stage;
  const Monitor monitor(Config::from_text("plugins: {path: .}\n", "a.yaml", folder.path()));
  EXPECT_SAYS(only(stage.take_messages()), "poem.so' cannot be loaded: it does not begin as a shared library does");
}

TEST(Monitor, ProblemsOfPluginsAreWarningsEvenIfALensNeedsThem) {
  const Folder folder;
  folder.add_plugin("newer_major");
  Stage stage;
  Monitor monitor(Config::from_text(
      "plugins: {path: [" + test_plugin("probe") + ", .]}\nlenses: [probe_lens: {gatherer: nowhere}]\n", "a.yaml",
      folder.path()));
  ModuleDescription description;
  description.name = "layer";
  description.flags = LOUPE_MODULE_LEAF;
  monitor.add_module(std::move(description));
  bool told = false;
  for (const std::string& message : stage.take_messages())
    told = told || message.find("newer_major.so' was built for ABI 2.3, this host has 1.0") != std::string::npos;
  EXPECT_TRUE(told);
}

TEST(Monitor, AComponentThatCannotBeCreatedIsAnErrorOfTheFile) {
  for (const std::string kind : {"lens", "shown"}) {
    Stage stage;
    stage.fail(kind + " create");
    const std::string told = thrown_by<ConfigError>([&] {
      Monitor monitor(
          Config::from_text(with_probe("lenses: [probe]\nvisualizers: [probe_visualizer]\n"), "a.yaml", "/"));
    });
    EXPECT_SAYS(told, "cannot be created: the test wants '" + kind + " create' to fail");
    EXPECT_BEGINS(told, kind == "lens" ? "a.yaml:2:10: error: the lens 'probe_lens' "
                                       : "a.yaml:3:15: error: the visualizer 'probe_visualizer' ");
  }
}

}  // namespace
}  // namespace loupe
