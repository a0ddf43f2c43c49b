// Lenses that receive the measurements of other lenses, and lenses that write incidents.

#include <gtest/gtest.h>

#include "folder.h"
#include "monitored.h"
#include "says.h"

namespace loupe {
namespace {

TEST(Hearer, ReceivesEachMeasuredEventOnceAndCausesNone) {
  Layered run(std::string("lenses: [probe_hearer, probe_lens, {probe_lens: {id: other}, as: other}]\n"));
  run.forward({2, 3});
  run.forward({1, 1});
  EXPECT_EQ(run.stage.take_notes("hearer hears"),
            (Texts{"hearer hears conv probe_forward 0: 5", "hearer hears conv probe_forward 1: 2"}));
  Layered alone(std::string("lenses: [probe_hearer]\n"));
  EXPECT_EQ(alone.layer->stream(LOUPE_TAP_FORWARD), nullptr);
}

TEST(Hearer, ReceivesMeasurementsOfOthersWhileItRests) {
  Layered run(std::string("lenses: [{probe_hearer: {active: 2}}, probe_lens]\n"));
  run.forward({2, 3});
  EXPECT_EQ(run.stage.take_notes("hearer hears"), Texts{"hearer hears conv probe_forward 0: 5"});
}

TEST(Hearer, ReceivesNothingItDoesNotWantAndNothingUnmeasured) {
  Monitored run(
      "lenses: [probe_hearer, {probe_lens: {measures: [none]}, as: tensors}, {probe_lens: {id: other}, as: other}]\n");
  const auto deaf = run.add("deaf");
  Monitored::forward(*deaf, {2, 3});
  EXPECT_EQ(run.stage.take_notes("hearer hears"), Texts());
  const auto layer = run.add("conv");
  Monitored::forward(*layer, {2, 3});
  EXPECT_EQ(run.stage.take_notes("hearer hears").size(), 1u);
}

TEST(Hearer, ReceivesNothingAfterItFailed) {
  Monitored run("lenses: [probe_lens, probe_hearer]\n");
  run.stage.fail("hearer visit");
  const auto layer = run.add("conv");
  Monitored::forward(*layer, {2, 3});
  EXPECT_EQ(run.stage.take_notes("hearer hears"), Texts());
}

TEST(Hearer, MayBeOneOfSeveral) {
  Layered run(std::string("lenses: [probe_lens, probe_hearer, {probe_hearer: {id: second}, as: second}]\n"));
  run.forward({2, 3});
  EXPECT_EQ(run.stage.take_notes("hearer hears").size(), 1u);
  EXPECT_EQ(run.stage.take_notes("second hears").size(), 1u);
}

/// A run with a folder. A lens of the configuration writes its incidents.
struct KeptByAnother : Monitored {
  explicit KeptByAnother(const Folder& folder)
      : Monitored("run: {dir: " + folder.path("run") + "}\nlenses: [probe_lens, probe_hearer]\n") {}
  void find(const std::string& rule) {
    publish({rule, LOUPE_SEVERITY_INFO, "it is wrong"});
    monitor.note_step();
  }
};

TEST(IncidentLens, OfTheConfigurationReplacesTheHostsLens) {
  const Folder folder;
  KeptByAnother run(folder);
  run.find("else");
  EXPECT_EQ(run.stage.take_notes("hearer writes"), Texts());
  run.find("fault");
  EXPECT_EQ(run.stage.take_notes("hearer writes"), Texts{"hearer writes at finding"});
  EXPECT_EQ(run.monitor.dump("look"), "2 held");
  EXPECT_EQ(run.stage.take_notes("hearer writes"), Texts{"hearer writes at dump"});
}

TEST(IncidentLens, ThatFailsToWriteIsReportedAndTrainingContinues) {
  const Folder folder;
  KeptByAnother run(folder);
  run.stage.fail("hearer writes at finding");
  run.find("fault");
  EXPECT_SAYS(only(run.stage.take_messages()), "an incident cannot be written into run.dir: the test wants");
  EXPECT_EQ(run.monitor.dump("look"), "1 held");
}

}  // namespace
}  // namespace loupe
