#include <gtest/gtest.h>
#include <loupe/error.h>
#include <loupe/options.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/log.h"
#include "faults.h"
#include "show/display.h"
#include "show/last_values.h"
#include "stage.h"

namespace loupe {
namespace {

const loupe_ending ending{sizeof(loupe_ending), LOUPE_END_COMPLETED, {}, nullptr};

const double edges[] = {0, 1};
const double counts[] = {2};
const char* const mean_names[] = {"mean"};
const char* const band_ends[] = {"min", "max"};
const double band_numbers[] = {1, 2};
const loupe_histogram some_histogram{.struct_size = sizeof(loupe_histogram),
                                     .tag = "T",
                                     .layer = "l",
                                     .line = "h",
                                     .edges = edges,
                                     .counts = counts,
                                     .bin_count = 1};
const loupe_progress some_progress{.struct_size = sizeof(loupe_progress),
                                   .at = {.epoch = 1},
                                   .epochs = 2,
                                   .steps = 3,
                                   .steps_before = 4,
                                   .seconds = 5};

/// A row with a mean and a band.
loupe_row row_of(const double& mean) {
  return {.struct_size = sizeof(loupe_row),
          .tag = "T",
          .layer = "l",
          .value_count = 1,
          .value_names = mean_names,
          .values = &mean,
          .band_count = 1,
          .band_names = band_ends,
          .bands = band_numbers};
}

loupe_tick tick_of(double epoch) {
  return {.struct_size = sizeof(loupe_tick), .reason = LOUPE_TICK_EPOCH, .at = {.epoch = epoch}};
}

/// Two visualizers, "a" and "b". Each test calls the display as lenses would.
class DisplayTest : public testing::Test {
 protected:
  DisplayTest() {
    catalogue_.add_path(test_plugin("probe"));
    RunDescription run;
    run.name = "r";
    display_.set_run(std::move(run));
    show("[probe_visualizer: {id: a}, {probe_visualizer: {id: b}, as: b}]");
    stage_.take_notes();
  }
  void show(const std::string& yaml) { display_.replace(Config::visualizers_from_text(yaml, catalogue_)); }
  void tag(const char* name, const char* owner = "the lens 'x'", uint32_t flags = 0) {
    display_.tag({.struct_size = sizeof(loupe_tag), .flags = flags, .id = name}, owner);
  }
  void value(const char* tag, const char* layer, const char* line, double number) {
    display_.row({.struct_size = sizeof(loupe_row),
                  .tag = tag,
                  .layer = layer,
                  .value_count = 1,
                  .value_names = &line,
                  .values = &number});
  }
  void tick(double epoch) {
    display_.begin_tick(tick_of(epoch));
    const double mean = epoch * 10;
    display_.row(row_of(mean));
    display_.histogram(some_histogram);
    display_.end_tick();
  }
  const std::vector<std::string> whole_tick(const std::string& id, const std::string& epoch) {
    return {id + " begin_tick " + epoch, id + " value T/l/mean " + epoch + "0", id + " range T/l 1..2",
            id + " histogram T/l", id + " end_tick"};
  }

  Stage stage_;
  Catalogue catalogue_;
  Display display_;
};

TEST_F(DisplayTest, AFailingVisualizerIsReportedOnceAndRetriedAtEachTick) {
  stage_.fail("a value*");
  tick(1);
  EXPECT_EQ(stage_.take_messages(), Texts{"the visualizer 'probe_visualizer' failed: the test wants 'a value T/l/mean "
                                          "10' to fail; training continues, and the next tick tries again"});
  EXPECT_EQ(stage_.take_notes("a "), (Texts{"a begin r", "a begin_tick 1", "a value T/l/mean 10"}));
  EXPECT_EQ(stage_.take_notes("b ").size(), 6u);  // begin, and a whole tick

  tick(2);
  EXPECT_EQ(stage_.take_messages(), Texts{});
  EXPECT_EQ(stage_.take_notes("a "), (Texts{"a begin_tick 2", "a value T/l/mean 20"}));
  EXPECT_EQ(stage_.take_notes("b "), whole_tick("b", "2"));

  stage_.mend();
  tick(3);
  EXPECT_SAYS(only(stage_.take_messages()), "the visualizer 'probe_visualizer' works again, after 2 ticks");
  EXPECT_EQ(stage_.take_notes("a "), whole_tick("a", "3"));

  tick(4);
  EXPECT_EQ(stage_.take_messages(), Texts{});
  stage_.fail("a end_tick");
  tick(5);
  EXPECT_SAYS(only(stage_.take_messages()), "the test wants 'a end_tick' to fail");  // a new fault is reported again
}

TEST_F(DisplayTest, AVisualizerThatDoesNotReturnIsReportedMeanwhile) {
  show("[{probe_visualizer: {id: b}, as: b}]");  // alone: another one may take up its tick late, too
  stage_.take_notes();
  static std::atomic<double> now;
  static std::atomic<bool> is_stuck;
  now = 100;
  is_stuck = false;
  set_steady_clock([] { return now.load(); });
  std::promise<void> release;
  stage_.listen([&, future = release.get_future().share()](const std::string& note) {
    if (note != "b begin_tick 1") return;
    is_stuck = true;
    future.wait();
  });
  std::vector<std::string> told;  // the stage's own sink would wait for the visualizer
  LogSink before = set_log_sink([&](int, const std::string& message) { told.push_back(message); });
  tick(1);
  while (!is_stuck) std::this_thread::yield();
  now = 104;
  tick(2);
  EXPECT_EQ(told, Texts{});
  now = 106;
  tick(3);
  EXPECT_SAYS(only(told), "the visualizer 'b' is more than 5 s behind");
  EXPECT_SAYS(only(told), "run.dir");
  tick(4);
  EXPECT_EQ(told.size(), 1u);
  release.set_value();
  display_.wait();
  set_log_sink(std::move(before));
  set_steady_clock(nullptr);
}

TEST_F(DisplayTest, EachCallOfAVisualizerMayFail) {
  tag("T");
  tick(1);
  for (const std::string step : {"begin_tick*", "value*", "range*", "histogram*", "end_tick", "progress*"}) {
    stage_.take_messages();
    stage_.fail("a " + step);
    if (step == "progress*") display_.progress(some_progress);
    tick(2);
    EXPECT_EQ(stage_.take_messages().size(), step == "progress*" ? 2u : 1u) << step;  // works again in the same tick
    stage_.mend();
    tick(3);
  }
  stage_.take_messages();
  stage_.fail("a end");
  display_.end(ending);
  EXPECT_SAYS(only(stage_.take_messages()), "the test wants 'a end' to fail");
}

TEST_F(DisplayTest, AVisualizerThatCannotBeginBeginsAtALaterTick) {
  stage_.fail("a begin r");
  tag("T");
  tick(1);
  tick(2);
  EXPECT_EQ(stage_.take_messages().size(), 1u);
  EXPECT_EQ(stage_.take_notes("a "), (Texts{"a begin r", "a begin r"}));
  stage_.mend();
  tick(3);
  const Texts notes = stage_.take_notes("a ");
  ASSERT_GT(notes.size(), 2u);
  EXPECT_EQ(notes[0], "a begin r");
  EXPECT_EQ(notes[1], "a tag T");
  EXPECT_EQ(notes[2], "a begin_tick 3");
}

TEST_F(DisplayTest, AVisualizerThatNeverBeganIsReportedAndNotEnded) {
  stage_.fail("a begin r");
  tick(1);
  stage_.take_messages();
  display_.end(ending);
  EXPECT_SAYS(only(stage_.take_messages()), "the visualizer 'probe_visualizer' could not begin, so it shows nothing");
  EXPECT_EQ(stage_.take_notes("a end").size(), 0u);
  EXPECT_EQ(stage_.take_notes("b end").size(), 2u);  // end_tick and end
}

TEST_F(DisplayTest, AFailureAtTheEndIsReportedEvenAfterAnEarlierOne) {
  stage_.fail("a value*");
  tick(1);
  stage_.take_messages();
  stage_.fail("a end");
  display_.end(ending);
  EXPECT_SAYS(only(stage_.take_messages()), "the visualizer 'probe_visualizer' failed at the end: ");
}

TEST_F(DisplayTest, AtTheEndTheMessageOfTheLastTryIsReported) {
  show("[probe_visualizer: {id: a, flushes: true}]");
  tick(1);
  stage_.fail("a flush");
  stage_.fail("a end");
  display_.end(ending);
  EXPECT_SAYS(only(stage_.take_messages()), "the test wants 'a end' to fail");
}

TEST_F(DisplayTest, TagsAreSentOnceAndBeforeTheTick) {
  tag("T");
  tag("T");
  tick(1);
  tag("T");
  tag("U");
  tick(2);
  EXPECT_EQ(stage_.take_notes("a tag"), (Texts{"a tag T", "a tag U"}));
}

TEST_F(DisplayTest, ATagWithSlightlyDifferentBoundsIsNew) {
  tick(1);
  for (const double minimum : {1e-9, 1e-9, 2e-9}) {
    display_.tag({.struct_size = sizeof(loupe_tag),
                  .type = LOUPE_SCALE_NUMERICAL,
                  .flags = LOUPE_TAG_HAS_MINIMUM,
                  .id = "T",
                  .y_minimum = minimum},
                 "the lens 'x'");
  }
  display_.wait();
  EXPECT_EQ(stage_.take_notes("a tag"), (Texts{"a tag T", "a tag T"}));
}

TEST_F(DisplayTest, ATagThatFailedIsSentAgainAtTheNextTick) {
  tag("T");
  stage_.fail("a tag T");
  tick(1);
  stage_.mend();
  tick(2);
  EXPECT_EQ(stage_.take_notes("a tag"), (Texts{"a tag T", "a tag T"}));
}

TEST_F(DisplayTest, ATagReportedWhileAVisualizerFailsIsSentLater) {
  stage_.fail("a value*");
  tick(1);
  tag("late");  // "a" skips it, as it waits for the next tick
  EXPECT_EQ(stage_.take_notes("a tag").size(), 0u);
  stage_.mend();
  tick(2);
  EXPECT_EQ(stage_.take_notes("a tag"), Texts{"a tag late"});
}

TEST_F(DisplayTest, AVisualizerThatJoinsLaterIsToldTheRunAndAllTags) {
  tag("T");
  tick(1);
  tag("U");
  show("[probe_visualizer: {id: c}]");
  EXPECT_EQ(stage_.take_notes("a end"), (Texts{"a end_tick", "a end"}));
  EXPECT_EQ(stage_.take_notes("b end").back(), "b end");
  stage_.take_notes();
  tick(2);
  const Texts notes = stage_.take_notes("c ");
  ASSERT_EQ(notes.size(), 8u);
  EXPECT_EQ(Texts(notes.begin(), notes.begin() + 4), (Texts{"c begin r", "c tag T", "c tag U", "c begin_tick 2"}));
}

TEST_F(DisplayTest, IfOneCannotBeCreatedTheOthersStay) {
  stage_.fail("c create");
  EXPECT_THROW(show("[probe_visualizer: {id: c}]"), ConfigError);
  tick(1);
  EXPECT_EQ(stage_.take_notes("b value").size(), 1u);
}

TEST_F(DisplayTest, ProgressComesAfterTheStart) {
  display_.progress(some_progress);
  EXPECT_EQ(stage_.take_notes("a "), (Texts{"a begin r", "a progress 3"}));
}

TEST_F(DisplayTest, ARunThatAComponentReadsDoesNotChange) {
  const loupe_run& before = display_.c_run();
  RunDescription other;
  other.name = "other";
  other.directory = "elsewhere";
  other.train_loss = "fit";
  other.lenses = {"health"};
  other.settings.add({"run.tick.steps", "5"});
  display_.set_run(other);
  EXPECT_STREQ(before.name, "r");
  EXPECT_STREQ(before.directory, "");
  EXPECT_STREQ(before.train_loss, "train_loss");
  EXPECT_EQ(before.lens_count, 0U);
  const loupe_run& now = display_.c_run();
  other = {};
  EXPECT_STREQ(now.name, "other");
  EXPECT_STREQ(now.train_loss, "fit");
  ASSERT_EQ(now.lens_count, 1U);
  EXPECT_STREQ(now.lenses[0], "health");
  ASSERT_EQ(now.settings->value_count, 1U);
  EXPECT_STREQ(now.settings->values[0]->name, "run.tick.steps");
  EXPECT_STREQ(now.settings->values[0]->string, "5");
}

TEST_F(DisplayTest, RemembersTheLastValueOfEachLine) {
  EXPECT_EQ(display_.last("T", "l", "mean"), std::nullopt);
  tick(1);
  tick(2);
  EXPECT_EQ(display_.last("T", "l", "mean"), 20);
  EXPECT_EQ(display_.last("T", "other", "mean"), std::nullopt);
}

TEST_F(DisplayTest, ATagBelongsToWhoToldItFirst) {
  const auto refused = [&](auto&& tell) -> std::string {
    try {
      tell();
      return "";
    } catch (const Error& refusal) {
      EXPECT_EQ(refusal.status(), LOUPE_INVALID);
      return refusal.what();
    }
  };
  tag("T");
  tag("T");
  EXPECT_EQ(refused([&] { tag("T", "the lens 'y'"); }),
            "the tag 'T' belongs to the lens 'x', which reported it first; give this one another id");
  EXPECT_NE(refused([&] { tag("T", "the lens 'y'", LOUPE_TAG_SHARED); }), "");
  EXPECT_EQ(refused([&] { display_.check_owner("T", "the lens 'x'"); }), "");
  EXPECT_NE(refused([&] { display_.check_owner("T", "the lens 'y'"); }), "");
  EXPECT_EQ(refused([&] { display_.check_owner("untold", "the lens 'y'"); }), "");
  tag("S", "the lens 'x'", LOUPE_TAG_SHARED);
  EXPECT_EQ(refused([&] { tag("S", "the lens 'y'", LOUPE_TAG_SHARED); }), "");
  EXPECT_NE(refused([&] { tag("S", "the lens 'z'"); }), "");
}

TEST_F(DisplayTest, TakesOneNumberOfATagLayerAndNameATick) {
  const auto value = [&](const char* tag, double number) { this->value(tag, "l", "h", number); };
  const auto range = [&](const char* high_name) {
    const char* const own_ends[] = {"min", high_name};
    display_.row({.struct_size = sizeof(loupe_row),
                  .tag = "T",
                  .layer = "l",
                  .band_count = 1,
                  .band_names = own_ends,
                  .bands = band_numbers});
  };
  const auto histogram = [&] { display_.histogram(some_histogram); };
  tag("T");
  tag("S", "the lens 'x'", LOUPE_TAG_SHARED);
  for (const double epoch : {1, 2}) {
    display_.begin_tick(tick_of(epoch));
    value("T", 1);
    histogram();  // the histogram has the same name as the value
    range("max");
    range("Q3");  // a band with a different name
    EXPECT_THROW(value("T", 1), Error);
    EXPECT_THROW(value("T", 2), Error);
    EXPECT_THROW(range("max"), Error);
    EXPECT_THROW(histogram(), Error);
    value("S", 1);
    value("S", 1);  // two lenses may report the same shared value
    EXPECT_THROW(value("S", 2), Error);
    display_.end_tick();
    EXPECT_EQ(stage_.take_notes("a value S"), Texts{"a value S/l/h 1"});
  }
}

TEST_F(DisplayTest, AcceptsOneNumberPerTickForATagLayerNameAndStep) {
  const auto value = [&](uint64_t step, double number) {
    loupe_row row = row_of(number);
    row.band_count = 0;
    row.step = step;
    display_.row(row);
  };
  for (const double epoch : {1, 2}) {
    display_.begin_tick(tick_of(epoch));
    value(0, 5);
    value(3, 6);
    value(4, 6);
    EXPECT_THROW(value(3, 7), Error);
    display_.end_tick();
    EXPECT_EQ(stage_.take_notes("a value").size(), 3u);
    EXPECT_EQ(display_.last("T", "l", "mean"), 5) << "the value without a step, which stands for the whole tick";
  }
}

TEST_F(DisplayTest, LimitsTheNumbersOfStepsOfATagInATick) {
  show("[]");
  const auto value = [&](uint64_t step) {
    const double number = 1;
    loupe_row row = row_of(number);
    row.band_count = 0;
    row.step = step;
    display_.row(row);
  };
  for (const double epoch : {1, 2}) {
    display_.begin_tick(tick_of(epoch));
    for (uint64_t step = 1; step <= LOUPE_MOST_STEP_NUMBERS; ++step) value(step);
    EXPECT_THROW(value(LOUPE_MOST_STEP_NUMBERS + 1), Error);
    display_.end_tick();
  }
}

TEST_F(DisplayTest, ARefusedRowIsShownUpToItsFirstDuplicate) {
  const char* const three[] = {"mean", "max", "min"};
  const double numbers[] = {1, 2, 3};
  loupe_row row{.struct_size = sizeof(loupe_row),
                .tag = "T",
                .layer = "l",
                .value_count = 3,
                .value_names = three,
                .values = numbers};
  display_.begin_tick(tick_of(1));
  value("T", "l", "max", 9);
  EXPECT_THROW(display_.row(row), Error);
  row.value_count = 0;
  display_.row(row);
  display_.end_tick();
  EXPECT_EQ(stage_.take_notes("a value"), (Texts{"a value T/l/max 9", "a value T/l/mean 1"}));
}

/// Blocks a visualizer until the gate is opened.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return is_open_; });
  }
  void await_somebody() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ > 0; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  bool is_open_ = false;
};

loupe_finding finding_of(const char* rule) {
  return {.struct_size = sizeof(loupe_finding),
          .severity = LOUPE_SEVERITY_ERROR,
          .state = LOUPE_FINDING_RAISED,
          .rule = rule,
          .message = "what is wrong",
          .source = "the test"};
}

TEST_F(DisplayTest, EachVisualizerIsCalledOnItsOwnThread) {
  std::mutex mutex;
  std::map<char, std::set<std::thread::id>> threads;  // key: the first letter of the visualizer's name
  stage_.listen([&](const std::string& note) {
    const std::lock_guard lock(mutex);
    threads[note[0]].insert(std::this_thread::get_id());
  });
  tag("T");
  display_.finding(finding_of("rule"));
  tick(1);
  display_.progress(some_progress);
  display_.flush();
  tick(2);
  display_.end(ending);
  ASSERT_EQ(threads['a'].size(), 1u);
  ASSERT_EQ(threads['b'].size(), 1u);
  EXPECT_EQ(
      (std::set<std::thread::id>{*threads['a'].begin(), *threads['b'].begin(), std::this_thread::get_id()}.size()), 3u);
}

TEST_F(DisplayTest, ASlowVisualizerDelaysNoOtherAndMissesNothing) {
  Gate gate;
  std::atomic<int> shown{0};
  stage_.listen([&](const std::string& note) {
    if (note == "b begin_tick 1") gate.pass();
    if (note == "a end_tick" || note == "a progress 3") ++shown;
  });
  for (int epoch = 1; epoch <= 40; ++epoch) tick(epoch);
  display_.progress(some_progress);
  while (shown < 41) std::this_thread::yield();  // the test hangs here if "b" blocked "a"
  // The progress for "b" is still queued. Tell it repeatedly, as "a" may not yet have left its first one.
  while (shown < 42) {
    display_.progress(some_progress);
    std::this_thread::yield();
  }
  gate.open();
  display_.wait();
  EXPECT_EQ(stage_.take_notes("b end_tick").size(), 40u);
  EXPECT_EQ(stage_.take_notes("b progress").size(), 1u);
}

TEST(HeldTickWeight, LetsManySmallTicksOrAFewLargeOnesWait) {
  HeldTick tick(tick_of(1));
  EXPECT_EQ(HeldTick::most_bytes / tick.weight(), HeldTick::most_waiting);
  const std::string layer(std::size_t{2} << 20, 'x');
  loupe_row row = row_of(band_numbers[0]);
  row.layer = layer.c_str();
  tick.add(row);
  EXPECT_GT(tick.weight(), std::size_t{2} << 20);
  EXPECT_LT(tick.weight(), std::size_t{3} << 20);
  for (int i = 0; i < 20; ++i) tick.add(row);
  EXPECT_EQ(HeldTick::most_bytes / tick.weight(), 4u);
  tick.begin(tick_of(2));
  EXPECT_EQ(HeldTick::most_bytes / tick.weight(), HeldTick::most_waiting) << "the tick reuses its memory";
}

TEST_F(DisplayTest, WhoTellsGoesOnWhileAVisualizerStandsStill) {
  Gate gate;
  stage_.listen([&](const std::string& note) {
    if (note == "a begin_tick 1") gate.pass();
  });
  tick(1);
  gate.await_somebody();
  tick(2);
  for (int i = 0; i < 100; ++i) {
    display_.finding(finding_of(i % 2 == 0 ? "even" : "odd"));
    display_.progress(some_progress);
  }
  tag("late");
  gate.open();
  display_.wait();
  Texts expected{"a begin r"};
  for (const std::string epoch : {"1", "2"}) {
    for (const std::string& note : whole_tick("a", epoch)) expected.push_back(note);
  }
  for (int i = 0; i < 100; ++i) {
    expected.push_back(std::string("a finding ") + (i % 2 == 0 ? "even" : "odd") + " by the test");
    if (i == 0) expected.push_back("a progress 3");  // the later progress was dropped, as one was queued
  }
  expected.push_back("a tag late");
  EXPECT_EQ(stage_.take_notes("a "), expected);
}

TEST_F(DisplayTest, WhoTellsWaitsWhereSeveralTicksAreNotShown) {
  Gate gate;
  std::atomic<int> told{0}, most{0};
  stage_.listen([&](const std::string& note) {
    if (note == "a begin_tick 1") gate.pass();
    if (note.compare(0, 13, "a begin_tick ") == 0) most = std::max(most.load(), told - std::stoi(note.substr(13)));
  });
  std::thread teller([&] {
    for (int epoch = 1; epoch <= 100; ++epoch) {
      ++told;
      tick(epoch);
    }
  });
  while (told <= static_cast<int>(HeldTick::most_waiting)) std::this_thread::yield();
  gate.open();
  teller.join();
  display_.wait();
  EXPECT_LE(most, static_cast<int>(HeldTick::most_waiting));
  EXPECT_EQ(stage_.take_notes("a end_tick").size(), 100u);
}

TEST_F(DisplayTest, FlushAndEndReturnAfterEverythingIsShown) {
  std::atomic<int> shown{0}, ended{0};
  stage_.listen([&](const std::string& note) {
    if (note == "b end_tick") ++shown;
    if (note == "b end") ++ended;
  });
  for (int epoch = 1; epoch <= 3; ++epoch) tick(epoch);
  display_.flush();
  EXPECT_EQ(shown, 3);
  for (int epoch = 4; epoch <= 6; ++epoch) tick(epoch);
  display_.end(ending);
  EXPECT_EQ(shown, 6);
  EXPECT_EQ(ended, 1);
}

TEST_F(DisplayTest, CallsBackForEachVisualizerAfterEarlierEventsWereShown) {
  std::atomic<int> told{0}, most{0}, calls{0};
  stage_.listen([&](const std::string& note) { told += note == "a end_tick" || note == "b end_tick" ? 1 : 0; });
  tick(1);
  display_.when_told([&] {
    ++calls;
    const int seen = told;
    for (int before = most; before < seen && !most.compare_exchange_weak(before, seen);) continue;
  });
  display_.wait();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(most, 2);
  stage_.listen({});  // the end writes notes, too
}

TEST_F(DisplayTest, AFindingReportedWithinATickIsShownThere) {
  display_.begin_tick(tick_of(1));
  value("T", "l", "mean", 1);
  display_.finding(finding_of("rule"));
  value("T", "l", "max", 2);
  display_.end_tick();
  EXPECT_EQ(stage_.take_notes("a "), (Texts{"a begin r", "a begin_tick 1", "a value T/l/mean 1",
                                            "a finding rule by the test", "a value T/l/max 2", "a end_tick"}));
}

TEST_F(DisplayTest, ATickThatAnExceptionInterruptedIsShownPartly) {
  display_.begin_tick(tick_of(1));
  value("T", "l", "mean", 1);
  tick(2);
  const Texts notes = stage_.take_notes("a ");
  ASSERT_GT(notes.size(), 5u);
  EXPECT_EQ(Texts(notes.begin(), notes.begin() + 5),
            (Texts{"a begin r", "a begin_tick 1", "a value T/l/mean 1", "a end_tick", "a begin_tick 2"}));
}

TEST_F(DisplayTest, ReportedValuesAreCopied) {
  std::string layer(100000, 'x');
  for (const std::size_t size : {10u, 100000u, 3u, 70000u}) {  // the reused memory is too small or too large
    layer.assign(size, 'x');
    display_.begin_tick(tick_of(1));
    value("T", layer.c_str(), "l", 1);
    layer.assign(size, '-');
    display_.end_tick();
    EXPECT_EQ(only(stage_.take_notes("a value")), "a value T/" + std::string(size, 'x') + "/l 1");
  }
}

TEST_F(DisplayTest, AForkedChildHasNoThreadAndNeitherShowsNorWaits) {
  tick(1);
  display_.wait();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    tick(2);
    display_.flush();
    display_.end(ending);
    ::_exit(7);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  tick(2);
  EXPECT_EQ(stage_.take_notes("a end_tick").size(), 2u);
}

TEST(Display, AVisualizerWithTheSmallestTableShowsValues) {
  const Stage stage;
  Catalogue catalogue;
  catalogue.add_path(test_plugin("sound"));  // its table has only begin_tick and row
  Display display;
  display.replace(Config::visualizers_from_text("[sound]", catalogue));
  EXPECT_FALSE(display.wants_progress());
  display.tag({.struct_size = sizeof(loupe_tag), .id = "T"}, "the lens 'x'");
  display.begin_tick(tick_of(1));
  display.row(row_of(band_numbers[0]));
  display.histogram(some_histogram);
  display.end_tick();
  display.progress(some_progress);
  display.end(ending);
  EXPECT_EQ(stage.take_messages(), Texts{});
}

void tell(LastValues& values, const std::vector<std::string>& lines, double value) {
  values.begin_tick();
  for (const std::string& line : lines) values.put("tag", "layer", line, value);
}
double value_of(const LastValues& values, const std::string& line) {
  return values.find("tag", "layer", line).value_or(-1);
}

TEST(LastValuesByName, AreFoundInAnyOrder) {
  LastValues values;
  tell(values, {"a", "b", "c"}, 1);
  tell(values, {"a", "b", "c"}, 2);
  for (const char* line : {"a", "b", "c"}) EXPECT_EQ(value_of(values, line), 2) << line;
  tell(values, {"c", "a", "b"}, 3);
  for (const char* line : {"a", "b", "c"}) EXPECT_EQ(value_of(values, line), 3) << line;
}

TEST(LastValuesByName, RemainIfALaterTickHasNoValue) {
  LastValues values;
  tell(values, {"a", "b", "c"}, 1);
  tell(values, {"a", "c"}, 2);
  EXPECT_EQ(value_of(values, "a"), 2);
  EXPECT_EQ(value_of(values, "b"), 1);
  EXPECT_EQ(value_of(values, "c"), 2);
}

TEST(LastValuesByName, CanGrowInNumber) {
  LastValues values;
  tell(values, {"a", "c"}, 1);
  tell(values, {"a", "b", "c", "d"}, 2);
  for (const char* line : {"a", "b", "c", "d"}) EXPECT_EQ(value_of(values, line), 2) << line;
}

TEST(LastValuesByName, DifferByEachPartOfTheirName) {
  LastValues values;
  values.put("tag", "layer", "line", 1);
  values.put("tag", "layerl", "ine", 2);
  values.put("tagl", "ayer", "line", 3);
  EXPECT_EQ(values.find("tag", "layer", "line"), 1);
  EXPECT_EQ(values.find("tag", "layerl", "ine"), 2);
  EXPECT_EQ(values.find("tagl", "ayer", "line"), 3);
  EXPECT_EQ(values.find("tag", "layer", "lines"), std::nullopt);
}

TEST(LastValuesByName, ReportWhetherATickAlreadyHasAValue) {
  using Put = LastValues::Put;
  LastValues values;
  for (const double value : {1.0, 2.0}) {
    values.begin_tick();
    EXPECT_EQ(values.put("tag", "layer", "a", value), Put::first);
    EXPECT_EQ(values.put("tag", "layer", "b", NAN), Put::first);
    EXPECT_EQ(values.put("tag", "layer", "a", value), Put::same);
    EXPECT_EQ(values.put("tag", "layer", "b", NAN), Put::same);
    EXPECT_EQ(values.put("tag", "layer", "a", value + 1), Put::other);
    EXPECT_EQ(value_of(values, "a"), value);
    values.replace(value + 1);
    EXPECT_EQ(value_of(values, "a"), value + 1);
  }
}

}  // namespace
}  // namespace loupe
