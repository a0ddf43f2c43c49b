// Whether a run is running, has ended or was killed, as `loupe view` shows it.

#include "view/run_state.h"

#include <gtest/gtest.h>
#include <loupe/files/descriptor.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "core/run_folder.h"
#include "examples/process.h"
#include "made_records.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;
using view::RunState;

view::RunStanding standing(const fs::path& folder, const std::string& record) {
  view::FollowedRecord run(put(folder / "record.jsonl", record));
  run.read_on(std::size_t{1} << 30);
  return standing_of(run, folder);
}
RunState state(const fs::path& folder, const std::string& record) {
  return standing(folder, record).state;
}

TEST(RunState, FollowsTheRecordsEnd) {
  const fs::path folder = fresh_folder();
  const std::string run = two_epochs("digits");
  EXPECT_EQ(state(folder, run + end_line("completed")), RunState::completed);
  EXPECT_EQ(state(folder, run + end_line("interrupted")), RunState::interrupted);
  EXPECT_EQ(standing(folder, run + end_line("failed", "no memory")),
            (view::RunStanding{RunState::failed, "no memory"}));
  EXPECT_EQ(state(folder, run + "{\"kind\":\"end\",\"epoch\":2}\n"), RunState::ended);
  EXPECT_EQ(state(folder, run + end_line("completed") + run_line("digits", 9, true)), RunState::unknown);
  EXPECT_EQ(state(folder, run + "garbage\n"), RunState::damaged);
}

/// A process that locks the folder as a run does until it is killed.
class Training {
 public:
  explicit Training(const fs::path& folder) {
    fs::create_directories(folder);
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    process_ = ::fork();
    if (process_ == 0) {
      RunFolder held;
      const bool is_taken = held.take(folder.string()) == folder.string();
      if (!is_taken || ::write(ready[1], "!", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char text = 0;
    EXPECT_EQ(::read(ready[0], &text, 1), 1);
    ::close(ready[0]);
  }
  ~Training() {
    kill();
    ::waitpid(process_, nullptr, 0);
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  pid_t process() const { return process_; }
  void stop() {
    ::kill(process_, SIGSTOP);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(process_), &info, WSTOPPED | WNOWAIT);
  }
  /// Returns once the process is dead; its entry stays in the process table, as its parent has not read it yet.
  void kill() {
    ::kill(process_, SIGKILL);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOWAIT);
  }

 private:
  pid_t process_ = 0;
};

TEST(RunState, IsFailedWhereALossWasNaNToTheEnd) {
  const fs::path folder = fresh_folder();
  const std::string run = two_epochs("digits"), end = end_line("completed");
  const std::string nan3 = loss_line(3, "train_loss mean", "\"NaN\"") + tick_line(3);
  const std::string nan4 = loss_line(4, "train_loss mean", "\"NaN\"") + tick_line(4);
  const std::string found = finding_line("error", "raised", "non_finite", "the loss is NaN");
  EXPECT_EQ(state(folder, run + nan3 + nan4 + end), RunState::failed);
  EXPECT_EQ(state(folder, run + nan3 + found + end), RunState::failed);
  EXPECT_EQ(state(folder, run + nan3 + end), RunState::completed) << "one epoch with a NaN may be left out";
  EXPECT_EQ(state(folder, run + nan3 + nan4 + epoch_of(5, "0.1") + end), RunState::completed)
      << "the NaNs are resolved";
  EXPECT_EQ(state(folder, run + nan3 + nan4 + end_line("interrupted")), RunState::interrupted);
}

TEST(RunState, IsRunningWhileItsProcessLivesAndCrashedOnceItDied) {
  const fs::path folder = fresh_folder();
  std::string process;
  {
    Training training(folder);
    process = std::to_string(training.process());
    EXPECT_EQ(standing(folder, two_epochs("digits")), (view::RunStanding{RunState::running, ""}));
    training.kill();
    EXPECT_EQ(state(folder, two_epochs("digits")), RunState::crashed) << "the parent has not noticed yet";
  }
  EXPECT_EQ(standing(folder, two_epochs("digits")),
            (view::RunStanding{RunState::crashed, "process " + process + " died without finishing"}));
  EXPECT_EQ(state(folder, two_epochs("digits") + end_line("completed")), RunState::completed);
}

TEST(RunState, IsRunningWithARemarkIfASignalStoppedIt) {
  const fs::path folder = fresh_folder();
  Training training(folder);
  training.stop();
  EXPECT_EQ(standing(folder, two_epochs("digits")),
            (view::RunStanding{RunState::running,
                               "process " + std::to_string(training.process()) + " was stopped by a signal"}));
}

TEST(RunState, IsCrashedIfAnotherProcessHasItsNumber) {
  const fs::path folder = fresh_folder();
  put(folder / ".loupe.lock", RunHolder::this_process().text());
  EXPECT_EQ(state(folder, two_epochs("digits")), RunState::crashed) << "this process lives, but does not hold the lock";
}

TEST(RunState, IsUnknownWhereNothingHereTells) {
  const fs::path folder = fresh_folder();
  EXPECT_EQ(standing(folder, two_epochs("digits")),
            (view::RunStanding{RunState::unknown, "its folder has no lock that names a process"}));
  put(folder / ".loupe.lock", "4711 trainbox some-boot/pid:[1]\n");
  EXPECT_EQ(standing(folder, two_epochs("digits")),
            (view::RunStanding{RunState::unknown, "process 4711 on trainbox cannot be seen from here"}));
  for (const char* text : {"", "no number", "12x host", "-3", "0", "4294967297 host machine"}) {
    put(folder / ".loupe.lock", text);
    EXPECT_EQ(standing(folder, two_epochs("digits")),
              (view::RunStanding{RunState::unknown, "the lock of its folder names no process"}))
        << text;
  }
}

TEST(RunState, OfALockWithoutAMachineIsRunningIfTheKernelKnowsIt) {
  const fs::path folder = fresh_folder();
  put(folder / ".loupe.lock", std::to_string(::getpid()));
  EXPECT_EQ(state(folder, two_epochs("digits")), RunState::unknown);
  const Descriptor lock(folder / ".loupe.lock", O_RDWR);
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(state(folder, two_epochs("digits")), RunState::running);
}

TEST(RunState, OfARunWhoseFolderALaterRunUsesIsCrashed) {
  EXPECT_EQ(state(fresh_folder() / "older-1", two_epochs("digits")), RunState::crashed);
}

}  // namespace
}  // namespace loupe::test
