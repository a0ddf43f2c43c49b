// Findings: the board that stores them, and the queue that carries them from lenses to the inspector.

#include <gtest/gtest.h>
#include <loupe/error.h>
#include <loupe/finding.h>

#include <set>
#include <thread>

#include "../standing.h"
#include "findings/finding_board.h"
#include "findings/outbox.h"
#include "monitored.h"

namespace loupe {
namespace {

loupe_finding found(const Finding& finding) {
  return finding.c_form();
}

TEST(FindingBoard, KeepsTheLastMessageOfARuleAndItsPlace) {
  FindingBoard board;
  Finding first{"vanishing_gradient", LOUPE_SEVERITY_WARNING, "small"};
  const loupe_finding* raised = board.add(found(first), 7, 2);
  ASSERT_NE(raised, nullptr);
  EXPECT_EQ(raised->state, static_cast<uint32_t>(LOUPE_FINDING_RAISED));
  EXPECT_EQ(raised->first_step, 7u);
  Finding worse = first;
  worse.severity = LOUPE_SEVERITY_ERROR;
  worse.message = "smaller";
  const loupe_finding* changed = board.add(found(worse), 9, 3);
  ASSERT_NE(changed, nullptr);
  EXPECT_EQ(changed->state, static_cast<uint32_t>(LOUPE_FINDING_CHANGED));
  EXPECT_EQ(changed->first_step, 7u);
  EXPECT_EQ(changed->last_step, 9u);
  EXPECT_EQ(standing_of(board).size(), 1u);
  worse.parameter = "weight";
  board.add(found(worse), 9, 3);
  EXPECT_EQ(standing_of(board).size(), 2u);
}

TEST(FindingBoard, TakesASeverityOfZeroOrOfANewerVersionForAWarning) {
  for (const uint32_t severity : {0U, uint32_t{LOUPE_SEVERITY_ERROR} + 1}) {
    FindingBoard board;
    const loupe_finding* raised = board.add(found(Finding{"rule", severity, "text"}), 1, 1);
    ASSERT_NE(raised, nullptr);
    EXPECT_EQ(raised->severity, static_cast<uint32_t>(LOUPE_SEVERITY_WARNING));
  }
}

TEST(FindingBoard, RaisesAResolvedFindingAgain) {
  FindingBoard board;
  Finding finding{"no_step", LOUPE_SEVERITY_ERROR, "nothing steps"};
  Finding gone = finding;
  gone.is_over = true;
  EXPECT_EQ(board.add(found(gone), 1, 1), nullptr);
  board.add(found(finding), 2, 1);
  EXPECT_NE(board.add(found(gone), 3, 1), nullptr);
  EXPECT_TRUE(standing_of(board).empty());
  EXPECT_EQ(board.all().size(), 1u);
  const loupe_finding* again = board.add(found(finding), 5, 1);
  EXPECT_EQ(again->state, static_cast<uint32_t>(LOUPE_FINDING_RAISED));
  EXPECT_EQ(again->first_step, 5u);
}

TEST(FindingBoard, RefusesAFindingWithoutRuleOrMessage) {
  FindingBoard board;
  EXPECT_THROW(board.add(found(Finding{"", LOUPE_SEVERITY_INFO, "text"}), 0, 0), Error);
  EXPECT_THROW(board.add(found(Finding{"rule", LOUPE_SEVERITY_INFO, ""}), 0, 0), Error);
}

TEST(FindingBoard, GivesTheNumberAndTheStateItself) {
  FindingBoard board;
  Finding finding{"low_rank", LOUPE_SEVERITY_WARNING, "its rank is 2"};
  finding.state = LOUPE_FINDING_GONE;
  EXPECT_THROW(board.add(found(finding), 1, 1), Error);
  finding.state = 0;
  finding.id = 7;
  EXPECT_THROW(board.add(found(finding), 1, 1), Error);
  finding.id = 0;
  const loupe_finding* raised = board.add(found(finding), 1, 1);
  ASSERT_NE(raised, nullptr);
  EXPECT_NE(raised->id, 0U);
  EXPECT_LT(raised->id, uint64_t{1} << 53);
  const uint64_t id = raised->id;
  finding.is_over = true;
  const loupe_finding* gone = board.add(found(finding), 2, 1);
  ASSERT_NE(gone, nullptr);
  EXPECT_EQ(gone->state, uint32_t{LOUPE_FINDING_GONE});
  EXPECT_EQ(gone->flags & LOUPE_FINDING_OVER, 0U) << "the state has this information";
  EXPECT_EQ(gone->id, id);
}

TEST(FindingBoard, TellsFindingsApartByWhoFoundThemTheirRuleLayerAndParameter) {
  FindingBoard board;
  Finding finding{"low_rank", LOUPE_SEVERITY_WARNING, "its rank is 2"};
  std::set<uint64_t> numbers;
  for (const char* source : {"the lens 'mine'", "the lens 'theirs'"}) {
    for (const char* layer : {"conv", "fc"}) {
      for (const char* parameter : {"", "weight"}) {
        finding.source = source;
        finding.layer = layer;
        finding.parameter = parameter;
        const loupe_finding* told = board.add(found(finding), 1, 1);
        ASSERT_NE(told, nullptr);
        EXPECT_EQ(told->state, uint32_t{LOUPE_FINDING_RAISED});
        numbers.insert(told->id);
      }
    }
  }
  EXPECT_EQ(standing_of(board).size(), 8U);
  EXPECT_EQ(numbers.size(), 8U);
  FindingBoard of_another_process;
  EXPECT_EQ(of_another_process.add(found(finding), 3, 2)->id, board.add(found(finding), 9, 4)->id);
}

TEST(Findings, ThatAComponentPublishesReachVisualizersAtTheNextStep) {
  Monitored it("visualizers: [probe_visualizer]\n");
  it.tick();
  it.stage.take_notes();
  it.publish(Finding{"rule", LOUPE_SEVERITY_ERROR, "text"});
  EXPECT_TRUE(it.stage.take_notes("shown finding").empty());
  it.monitor.note_step();
  EXPECT_EQ(it.stage.take_notes("shown finding"), Texts{"shown finding rule by the lens 'x'"});
  EXPECT_EQ(standing_of(it.monitor.findings()).size(), 1u);
}

TEST(Findings, BelongToTheEpochThatATickEndsOrElseToTheCurrentOne) {
  Monitored it("visualizers: [probe_visualizer]\n");
  it.publish(Finding{"in_tick", LOUPE_SEVERITY_ERROR, "text"});
  it.tick();
  it.publish(Finding{"between", LOUPE_SEVERITY_ERROR, "text"});
  it.monitor.note_step();
  const auto standing = standing_of(it.monitor.findings());
  ASSERT_EQ(standing.size(), 2u);
  EXPECT_EQ(standing[0]->first_epoch, 1);
  EXPECT_EQ(standing[1]->first_epoch, 2);
}

TEST(Findings, OfTwoLensesWithOneRuleStandBesideEachOther) {
  Monitored it("visualizers: [probe_visualizer]\n");
  Finding finding{"low_rank", LOUPE_SEVERITY_WARNING, "its rank is 2"};
  it.publish(finding, "the lens 'mine'");
  it.publish(finding, "the lens 'theirs'");
  it.monitor.note_step();
  finding.is_over = true;
  it.publish(finding, "the lens 'mine'");
  it.monitor.note_step();
  const auto standing = standing_of(it.monitor.findings());
  ASSERT_EQ(standing.size(), 1U);
  EXPECT_STREQ(standing[0]->source, "the lens 'theirs'");
}

TEST(Notes, OfAQuarantineReachVisualizers) {
  Layered it("lenses: [probe_lens]\nvisualizers: [probe_visualizer]\n");
  it.stage.fail("lens.numbers process 0");
  it.forward({1});
  it.tick();
  EXPECT_EQ(it.stage.take_notes("shown note").size(), 1u);
}

Finding finding(const std::string& rule) {
  return {rule, LOUPE_SEVERITY_ERROR, "it is wrong"};
}

TEST(Outbox, GivesMessagesInTheOrderInWhichTheyCame) {
  Outbox outbox;
  EXPECT_FALSE(outbox.has_messages());
  outbox.post({LOUPE_NOTE_COST, "first", {.step = 1}});
  outbox.post(finding("second").c_form());
  outbox.post({LOUPE_NOTE_COST, "third", {.step = 2}});
  EXPECT_TRUE(outbox.has_messages());
  const auto messages = outbox.take_messages();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(std::get<Outbox::Note>(messages[0]).text, "first");
  EXPECT_STREQ(std::get<Outbox::OwnedFinding>(messages[1])->get().rule, "second");
  EXPECT_EQ(std::get<Outbox::Note>(messages[2]).at.step, 2U);
  EXPECT_FALSE(outbox.has_messages());
  EXPECT_TRUE(outbox.take_messages().empty());
}

TEST(Outbox, RefusesAnEmptyFindingWhenItIsPosted) {
  Outbox outbox;
  EXPECT_THROW(outbox.post(Finding{"rule", LOUPE_SEVERITY_ERROR, ""}.c_form()), Error);
  EXPECT_FALSE(outbox.has_messages());
}

TEST(Outbox, HoldsOnlyTheLastDueTick) {
  Outbox outbox;
  EXPECT_FALSE(outbox.has_tick());
  outbox.post_tick(LOUPE_TICK_STEPS);
  outbox.post_tick(LOUPE_TICK_SECONDS);
  EXPECT_TRUE(outbox.has_tick());
  EXPECT_EQ(outbox.take_tick(), static_cast<uint32_t>(LOUPE_TICK_SECONDS));
  EXPECT_FALSE(outbox.has_tick());
}

TEST(Outbox, DeliversWhileNoInspectorsMutexIsHeldAndWhatComesMeanwhileToo) {
  Outbox outbox;
  std::vector<std::string> delivered;
  outbox.set_callback([&](const Finding& found) {
    delivered.push_back(found.rule);
    if (found.rule == "first") outbox.queue_for_delivery(finding("nested").c_form());
    outbox.deliver();  // has no effect, as the outer call delivers
  });
  outbox.queue_for_delivery(finding("first").c_form());
  outbox.queue_for_delivery(finding("second").c_form());
  {
    InspectorMutex mutex;
    const std::lock_guard lock(mutex);
    outbox.deliver();
    EXPECT_TRUE(delivered.empty());
  }
  outbox.deliver();
  EXPECT_EQ(delivered, (std::vector<std::string>{"first", "second", "nested"}));
}

TEST(Outbox, KeepsTheFirstExceptionOfTheCallbackAndThrowsItOnce) {
  Outbox outbox;
  outbox.set_callback([](const Finding& found) { throw std::runtime_error(found.rule); });
  for (const char* rule : {"first", "second"}) outbox.queue_for_delivery(finding(rule).c_form());
  outbox.deliver();
  EXPECT_EQ(thrown_by<std::runtime_error>([&] { outbox.rethrow(); }), "first");
  EXPECT_NO_THROW(outbox.rethrow());
}

TEST(Outbox, EndsTheDeliveryAfterACallbackOnAnotherThreadReturns) {
  Outbox outbox;
  std::atomic<bool> is_called{false}, may_return{false}, has_returned{false};
  outbox.set_callback([&](const Finding&) {
    is_called = true;
    while (!may_return) std::this_thread::yield();
    has_returned = true;
  });
  outbox.queue_for_delivery(finding("rule").c_form());
  std::thread delivering([&] { outbox.deliver(); });
  while (!is_called) std::this_thread::yield();
  std::thread ending([&] {
    outbox.end_delivery();
    EXPECT_TRUE(has_returned);
  });
  may_return = true;
  delivering.join();
  ending.join();
  outbox.queue_for_delivery(finding("rule").c_form());
  has_returned = false;
  outbox.deliver();
  EXPECT_FALSE(has_returned) << "the callback is not called again";
}

}  // namespace
}  // namespace loupe
