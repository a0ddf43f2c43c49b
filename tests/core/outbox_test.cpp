// The queue through which findings, notes and due ticks leave lenses.

#include "findings/outbox.h"

#include <gtest/gtest.h>
#include <loupe/error.h>

#include <thread>

namespace loupe {
namespace {

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

TEST(Outbox, RefusesAFindingThatSaysNothingWhereItIsPosted) {
  Outbox outbox;
  EXPECT_THROW(outbox.post(Finding{"rule", LOUPE_SEVERITY_ERROR, ""}.c_form()), Error);
  EXPECT_THROW(outbox.post(Finding{"rule", 9, "text"}.c_form()), Error);
  EXPECT_FALSE(outbox.has_messages());
}

TEST(Outbox, HoldsOneDueTick) {
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
    outbox.deliver();  // the one that is on goes on
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
  try {
    outbox.rethrow();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "first");
  }
  EXPECT_NO_THROW(outbox.rethrow());
}

TEST(Outbox, EndsTheDeliveryOnceACallOfTheCallbackOnAnotherThreadIsOver) {
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
  EXPECT_FALSE(has_returned) << "nobody is called any more";
}

}  // namespace
}  // namespace loupe
