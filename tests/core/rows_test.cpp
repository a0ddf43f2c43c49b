// Lenses that judge the numbers of all lenses.

#include <gtest/gtest.h>

#include "monitored.h"
#include "says.h"

namespace loupe {
namespace {

std::string heard(const Layered& run) {
  const auto all = run.monitor.findings().all();
  if (all.size() == 1) return all[0]->message;
  std::string text = std::to_string(all.size()) + " findings";
  for (const std::string& message : run.stage.take_messages()) text += "\n" + message;
  return text;
}

TEST(Rows, HaveEachNumberOnceEvenOfLensesThatReportLater) {
  Layered run(std::string("lenses: [probe_judge, probe_lens, {probe_lens: {}, as: other}]\n"));
  run.forward({2, 3});
  run.tick();
  EXPECT_EQ(heard(run), "it heard Probe/conv/sum=5 Probe (other)/conv/sum=5 ");
}

TEST(Rows, HaveOnlyTheNumbersOfOneTick) {
  Layered run(std::string("lenses: [probe_lens, probe_judge]\n"));
  for (const float value : {1.0F, 2.0F}) {
    run.forward({value, 0});
    run.tick();
  }
  EXPECT_EQ(heard(run), "it heard Probe/conv/sum=2 ");
}

TEST(Rows, OfALensThatFailsStopAndOthersContinue) {
  Layered run(std::string("lenses: [probe_lens, {probe_judge: {fails: true}}]\n"));
  run.forward({2, 3});
  run.tick();
  EXPECT_EQ(run.shown("conv", "sum"), 5);
  const std::vector<std::string> messages = run.stage.take_messages();
  ASSERT_FALSE(messages.empty());
  EXPECT_SAYS(messages[0], "it fails");
}

}  // namespace
}  // namespace loupe
