#include <loupe/files/held_signals.h>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

namespace loupe {
namespace {

int closed_pipe() {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  ::close(ends[0]);
  return ends[1];
}

TEST(FatalSignalsHeldDeathTest, LetOursFailAndTheProgramsOwnKillItAsBefore) {
  const auto write_both = [] {
    const int pipe = closed_pipe();
    {
      const FatalSignalsHeld held;
      if (::write(pipe, "ours", 4) != -1 || errno != EPIPE) std::_Exit(1);
    }
    sigset_t pending;
    sigpending(&pending);
    if (sigismember(&pending, SIGPIPE) != 0) std::_Exit(2);
    static_cast<void>(!::write(pipe, "the program's", 13));
    std::_Exit(3);
  };
  EXPECT_EXIT(write_both(), testing::KilledBySignal(SIGPIPE), "");
}

TEST(FatalSignalsHeldDeathTest, LeaveAnEarlierPendingSignalToTheProgram) {
  const auto write_while_it_waits = [] {
    sigset_t pipe, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    ::raise(SIGPIPE);
    {
      const FatalSignalsHeld held;
      static_cast<void>(!::write(closed_pipe(), "ours", 4));
    }
    sigpending(&pending);
    std::_Exit(sigismember(&pending, SIGPIPE));
  };
  EXPECT_EXIT(write_while_it_waits(), testing::ExitedWithCode(1), "");
}

}  // namespace
}  // namespace loupe
