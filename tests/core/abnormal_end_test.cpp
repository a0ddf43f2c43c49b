// How a run ends if its process ends early: what the record holds, and that the process ends as it would without Loupe.

#include "core/abnormal_end.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "core/log.h"
#include "paths.h"
#include "watched_run.h"

namespace {
std::atomic<bool> is_without_memory{false};
}
// Not inline, or the compiler would warn that new and delete do not match.
__attribute__((noinline)) void* operator new(std::size_t size) {
  void* const memory = is_without_memory ? nullptr : std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
__attribute__((noinline)) void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return is_without_memory ? nullptr : std::malloc(size > 0 ? size : 1);
}
__attribute__((noinline)) void operator delete(void* memory) noexcept {
  std::free(memory);
}
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace loupe {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// A run with a record, after its first epochs.
struct Recording : Layered {
  explicit Recording(const Folder& folder, int epochs = 1)
      : Layered(Config::from_text("plugins: {path: [" + test_plugin("probe") + ", " + LOUPE_BUILT_PLUGINS +
                                      "]}\nrun: {dir: " + folder.path("run") +
                                      "}\nlenses: [probe_lens]\nvisualizers: [record]\n",
                                  "a.yaml", "/")) {
    monitor.set_epochs(3);
    for (; epochs > 0; --epochs) {
      step();
      tick();
    }
  }
  void step() {
    forward({1});
    monitor.note_step();
  }
};

struct Left {
  explicit Left(const Folder& folder) {
    for (const nlohmann::json& line : lines_of(folder.path("run/record.jsonl"))) {
      if (line["kind"] == "tick") ticks.push_back(line);
      if (line["kind"] == "end") ends.push_back(line);
      last = line["kind"];
    }
  }
  std::vector<nlohmann::json> ticks, ends;
  std::string last;
};

/// Expects that the record holds the unfinished epoch and a single line about the end of the run.
void expect_whole(const Folder& folder, const std::string& how, const std::string& message) {
  const Left left(folder);
  ASSERT_EQ(left.ticks.size(), 2u);
  EXPECT_EQ(left.ticks[0]["incomplete"], false);
  EXPECT_EQ(left.ticks[1]["incomplete"], true);
  EXPECT_EQ(left.ticks[1]["reason"], "end");
  ASSERT_EQ(left.ends.size(), 1u);
  EXPECT_EQ(left.last, "end");
  EXPECT_EQ(left.ends[0]["how"], how);
  EXPECT_EQ(left.ends[0]["message"], message);
  EXPECT_EQ(left.ends[0]["step"], 2);
}

/// Expects that the record has no unfinished epoch, but a last line about the end of the run.
void expect_last_words(const Folder& folder, const std::string& how, const std::string& message) {
  const Left left(folder);
  EXPECT_EQ(left.ticks.size(), 1u);
  ASSERT_EQ(left.ends.size(), 1u);
  EXPECT_EQ(left.last, "end");
  EXPECT_EQ(left.ends[0]["how"], how);
  EXPECT_EQ(left.ends[0]["message"], message);
  EXPECT_EQ(left.ends[0]["step"], 2);
  EXPECT_EQ(left.ends[0]["epoch"], 1);
}

void run_out_of_memory() {
  throw std::runtime_error("out of memory");
}
// A separate function, as compilers differ in whether they unwind the frames of a noexcept function.
void fail() noexcept {
  run_out_of_memory();
}
void want_memory() noexcept {
  ::operator delete(::operator new(1));
}
const char* const blamed =
    "terminate called after throwing an instance of 'std::runtime_error'\\s+what\\(\\):  out of memory";

/// Makes one step after the first epoch of a run with a record, and calls `end`. Needs a separate process, as it exits.
void train(const Folder& folder, const std::function<void(Recording&)>& end) {
  Recording run(folder);
  run.step();
  run.monitor.display().wait();  // the last words wait only two seconds for the visualizers
  end(run);
  std::_Exit(0);
}

class AbnormalEndDeathTest : public testing::Test {
 protected:
  const Folder folder;
};

// Each of these tests ends its process.
TEST_F(AbnormalEndDeathTest, BySigtermComesAtTheNextStepAndLeavesAnIncident) {
  const auto train = [&] {
    Layered it("run: {dir: " + folder.path("run") + "}\nlenses: [probe_lens]\n");
    it.forward({1});
    it.monitor.note_step();
    ::raise(SIGTERM);
    std::ofstream(folder.path("alive")) << "yes";
    it.monitor.note_step();
    std::_Exit(0);
  };
  EXPECT_EXIT(train(), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EQ(text_of(folder.path("alive")), "yes");
  EXPECT_EQ(Json::parse(text_of(folder.path("run/incident-2/about.json")))["how"], "SIGTERM");
}

TEST_F(AbnormalEndDeathTest, ByTerminateLeavesAnIncidentWithWhatTheExceptionSays) {
  const auto train = [&] {
    Monitored it("run: {dir: " + folder.path("run") + "}\nlenses: [probe_lens]\n");
    it.monitor.note_step();
    fail();
  };
  EXPECT_EXIT(train(), testing::KilledBySignal(SIGABRT), "");
  const Json about = Json::parse(text_of(folder.path("run/incident-1/about.json")));
  EXPECT_EQ(about["how"], "terminate");
  EXPECT_EQ(about["why"], "out of memory");
}

volatile std::sig_atomic_t signals_seen = 0;

TEST(AbnormalEnd, BySigtermIsUpToTheProgramsOwnHandler) {
  signals_seen = 0;
  const auto before = std::signal(SIGTERM, [](int) { signals_seen = signals_seen + 1; });
  {
    Watched run;
    run.step();
    ::raise(SIGTERM);
    EXPECT_EQ(signals_seen, 1);
    run.step();
    run.step();
    EXPECT_EQ(folders_in(run.folder.path("run")), Texts{"incident-2"});
  }
  ::raise(SIGTERM);
  EXPECT_EQ(signals_seen, 2);
  std::signal(SIGTERM, before);
}

TEST(AbnormalEnd, OfAForkedChildIsNotDelayedAndWritesNothingForTheParent) {
  Watched run;
  run.step();
  const auto signal_that_ends = [](auto end) {
    const pid_t child = ::fork();
    if (child == 0) {
      end();
      std::_Exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  };
  EXPECT_EQ(signal_that_ends([] { ::raise(SIGTERM); }), SIGTERM);
  EXPECT_EQ(signal_that_ends([] { std::terminate(); }), SIGABRT);
  const auto after_one_of_its_own = [] {
    {
      const AbnormalEnd own([](const ProcessEnd&) {});
    }
    ::raise(SIGTERM);
  };
  EXPECT_EQ(signal_that_ends(after_one_of_its_own), SIGTERM);
  run.step();
  EXPECT_FALSE(fs::exists(run.folder.path("run"))) << "the child wrote no incident";
}

// The previous handler prints the same about the exception as it would without Loupe.
TEST_F(AbnormalEndDeathTest, ByTerminateEndsTheRecordAsFailedWithTheLastSteps) {
  const auto end = [](Recording&) { fail(); };
  EXPECT_EXIT(train(folder, end), testing::KilledBySignal(SIGABRT), blamed);
  expect_whole(folder, "failed", "out of memory");
}

TEST_F(AbnormalEndDeathTest, ByTerminateDuringACallLeavesALastLine) {
  const auto end = [](Recording& run) {
    run.host.on_before_tick = [] { fail(); };
    run.tick();
  };
  EXPECT_EXIT(train(folder, end), testing::KilledBySignal(SIGABRT), blamed);
  expect_last_words(folder, "failed", "out of memory");
}

TEST_F(AbnormalEndDeathTest, ByTerminateCallsNoSinkOfTheUsers) {
  const auto end = [](Recording&) {
    static std::mutex held;
    set_log_sink([](int, const std::string&) { const std::lock_guard wait(held); });
    const std::lock_guard hold(held);
    fail();
  };
  EXPECT_EXIT(train(folder, end), testing::KilledBySignal(SIGABRT), blamed);
  expect_whole(folder, "failed", "out of memory");
}

TEST_F(AbnormalEndDeathTest, ByTerminateWithoutMemoryStillRunsTheHandlerBefore) {
  const auto end = [](Recording& run) {
    run.monitor.display().wait();  // the other threads of this process would have no memory, either
    is_without_memory = true;
    want_memory();
  };
  EXPECT_EXIT(train(folder, end), testing::KilledBySignal(SIGABRT),
              "terminate called after throwing an instance of 'std::bad_alloc'");
  expect_last_words(folder, "failed", "std::bad_alloc");
}

TEST_F(AbnormalEndDeathTest, ByTerminateWaitsAFewSecondsForWhoIsToldAtMost) {
  const auto end = [] {
    const AbnormalEnd told([](const ProcessEnd&) {
      for (;;) ::pause();
    });
    fail();
  };
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EXIT(end(), testing::KilledBySignal(SIGABRT), blamed);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(AbnormalEndDeathTest, ByTerminateBlamesTheProgramsExceptionWhateverHappensInTelling) {
  const auto end = [] {
    const AbnormalEnd told([](const ProcessEnd&) { std::terminate(); });
    fail();
  };
  EXPECT_EXIT(end(), testing::KilledBySignal(SIGABRT), blamed);
}

TEST_F(AbnormalEndDeathTest, ByTerminateCallsALaterHandlerOfTheProgramThatCallsOurs) {
  const auto end = [] {
    const AbnormalEnd told([](const ProcessEnd&) {});
    static std::terminate_handler before;
    before = std::set_terminate([] {
      static_cast<void>(!::write(STDERR_FILENO, "mine, ", 6));
      before();
    });
    fail();
  };
  EXPECT_EXIT(end(), testing::KilledBySignal(SIGABRT), std::string("mine, ") + blamed);
}

TEST_F(AbnormalEndDeathTest, BySigintEndsTheRecordAtTheNextStep) {
  const auto train = [&] {
    Recording run(folder);
    ::raise(SIGINT);
    run.step();
    std::_Exit(0);
  };
  EXPECT_EXIT(train(), testing::KilledBySignal(SIGINT), "SIGINT: the run ends at its next step");
  expect_whole(folder, "interrupted", "SIGINT");
}

TEST_F(AbnormalEndDeathTest, BySignalOfAProgramWithoutFurtherStepsEndsTheRecordAndTheProgram) {
  for (const auto& [number, name] : {std::pair(SIGTERM, "SIGTERM"), {SIGINT, "SIGINT"}}) {
    const Folder folder;
    const auto end = [number = number](Recording&) {
      ::raise(number);
      for (;;) ::pause();
    };
    EXPECT_EXIT(train(folder, end), testing::KilledBySignal(number), name);
    expect_whole(folder, "interrupted", name);
  }
}

TEST_F(AbnormalEndDeathTest, BySignalWithoutAStepWorksIfEveryThreadBlocksTheSignal) {
  const auto end = [](Recording&) {
    sigset_t all;
    sigfillset(&all);
    std::thread([&] {
      ::raise(SIGTERM);
      pthread_sigmask(SIG_SETMASK, &all, nullptr);
    }).join();
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    for (;;) ::pause();
  };
  EXPECT_EXIT(train(folder, end), testing::KilledBySignal(SIGTERM), "");
  expect_whole(folder, "interrupted", "SIGTERM");
}

TEST_F(AbnormalEndDeathTest, ByExitWaitsOnlyOnceForListeners) {
  const auto end = [] {
    const AbnormalEnd told([](const ProcessEnd&) {
      for (;;) ::pause();
    });
    for (int i = 0; i < 6; ++i) AbnormalEnd::come_before_statics();
    std::exit(5);
  };
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EXIT(end(), testing::ExitedWithCode(5), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(AbnormalEndDeathTest, ByASecondSignalHappensImmediatelyWithALastLine) {
  const auto end = [](Recording&) {
    ::raise(SIGTERM);
    ::raise(SIGINT);
  };
  EXPECT_EXIT(train(folder, end), testing::KilledBySignal(SIGINT), "");
  expect_last_words(folder, "interrupted", "SIGINT");
}

TEST_F(AbnormalEndDeathTest, ByExitShowsTheLastStepsOfARunWhoseObjectsLiveOn) {
  for (void (*end)() : {+[] { std::exit(5); }, +[] { std::quick_exit(5); }}) {
    const Folder folder;
    const auto train = [&] {
      Recording run(folder);
      run.step();
      end();
    };
    EXPECT_EXIT(train(), testing::ExitedWithCode(5), "");
    expect_whole(folder, "interrupted", "the program ended by exit()");
  }
}

TEST_F(AbnormalEndDeathTest, ByExitDuringATickDoesNotHang) {
  const auto end = [](Recording& run) {
    run.host.on_before_tick = [] { std::exit(5); };
    run.tick();
  };
  EXPECT_EXIT(train(folder, end), testing::ExitedWithCode(5), "");
  EXPECT_EQ(Left(folder).ticks.size(), 1u);
}

TEST_F(AbnormalEndDeathTest, ByAFatalSignalLeavesLastWords) {
  const auto end = [](Recording&) { std::abort(); };
  EXPECT_EXIT(train(folder, end), testing::KilledBySignal(SIGABRT), "");
  expect_last_words(folder, "failed", "SIGABRT");
}

TEST_F(AbnormalEndDeathTest, ByAFatalSignalBeforeTheFirstTickLeavesALastLineIfThereIsARecord) {
  const auto train = [&] {
    Recording run(folder, /*epochs=*/0);
    run.monitor.note(LOUPE_NOTE_TRAINER, "it begins");
    run.step();
    std::abort();
  };
  EXPECT_EXIT(train(), testing::KilledBySignal(SIGABRT), "");
  const Left left(folder);
  ASSERT_EQ(left.ends.size(), 1u);
  EXPECT_EQ(left.ends[0]["how"], "failed");
  EXPECT_EQ(left.ends[0]["step"], 1);
}

/// Makes two ticks. The visualizer calls `what` during the second one.
void tick_with(const std::function<void()>& what) {
  Monitored it("lenses: [probe_lens]\nvisualizers: [probe_visualizer]\n");
  it.add("conv");
  it.tick();
  it.stage.listen([&](const std::string& note) {
    if (note == "shown begin_tick 2") what();
  });
  it.tick();
  for (;;) ::pause();
}

TEST_F(AbnormalEndDeathTest, ByAVisualizerDoesNotHang) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EXIT(tick_with([] { std::exit(5); }), testing::ExitedWithCode(5), "");
  EXPECT_EXIT(tick_with(&fail), testing::KilledBySignal(SIGABRT), blamed);
  EXPECT_EXIT(tick_with([] { std::abort(); }), testing::KilledBySignal(SIGABRT),
              "a fault inside the visualizer 'probe_visualizer'");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST_F(AbnormalEndDeathTest, ComesWhenTheVisualizersHaveShownWhatTheyWereTold) {
  const auto after_the_visualizer = [](void (*end)()) {
    Monitored it("lenses: [probe_lens]\nvisualizers: [probe_visualizer]\n");
    it.add("conv");
    it.tick();
    it.stage.listen([](const std::string& note) {
      if (note != "shown end_tick") return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      static_cast<void>(!::write(STDERR_FILENO, "stored.", 7));
    });
    it.tick();
    end();
  };
  const auto code = testing::ExitedWithCode(5);
  const auto killed = testing::KilledBySignal(SIGABRT);
  EXPECT_EXIT(after_the_visualizer([] { std::exit(5); }), code, "stored.");
  EXPECT_EXIT(after_the_visualizer([] { std::quick_exit(5); }), code, "stored.");
  EXPECT_EXIT(after_the_visualizer(&fail), killed, "stored.");
  EXPECT_EXIT(after_the_visualizer([] { std::abort(); }), killed, "stored.");
}

TEST(AbnormalEnd, OfAForkedChildWritesNothingAboutTheParentsRun) {
  const Folder folder;
  {
    Recording run(folder);
    run.step();
    for (void (*end)() : {+[] { std::abort(); }, +[] { std::exit(0); }, +[] { std::quick_exit(0); }}) {
      const pid_t child = ::fork();
      if (child == 0) end();
      int status = 0;
      ::waitpid(child, &status, 0);
      EXPECT_EQ(Left(folder).ends.size(), 0u);
    }
    run.tick();
  }
  const Left left(folder);
  ASSERT_EQ(left.ends.size(), 1u);
  EXPECT_EQ(left.ends[0]["how"], "interrupted");
}

TEST(MonitorEnd, ShowsTheLastStepsAndIgnoresLaterOnes) {
  const Folder folder;
  {
    Recording run(folder);
    run.step();
    run.monitor.end(LOUPE_END_FAILED, "because");
    run.step();
    run.tick();
    run.monitor.end(LOUPE_END_COMPLETED, nullptr);
  }
  expect_whole(folder, "failed", "because");
}

TEST(MonitorEnd, AfterTheLastEpochStartsNoNewEpochForATestSet) {
  const Folder folder;
  {
    Recording run(folder);
    run.forward({1}, 0);
    run.monitor.end(LOUPE_END_FAILED, "because");
  }
  EXPECT_EQ(Left(folder).ticks.size(), 1u);
}

}  // namespace
}  // namespace loupe
