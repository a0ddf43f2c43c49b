// Whether a run goes on, has ended or was killed, as `loupe view` tells it.

#include "view/run_state.h"

#include <gtest/gtest.h>
#include <loupe/files/descriptor.h>
#include <sys/file.h>

#include "examples/process.h"
#include "made_records.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;
using view::RunState;

/// The state `silent_for` seconds after the record was last written to.
RunState state(const fs::path& folder, const std::string& record, double silent_for = 0) {
  view::RunSummary run(put(folder / "record.jsonl", record));
  run.read_on(std::size_t{1} << 30);
  return state_of(run, folder, static_cast<double>(run.stamp().changed_ns) * 1e-9 + silent_for);
}

TEST(RunState, IsAsTheRecordsEndSays) {
  const fs::path folder = fresh_folder();
  const std::string run = two_epochs("digits");
  EXPECT_EQ(state(folder, run + end_line("completed")), RunState::completed);
  EXPECT_EQ(state(folder, run + end_line("interrupted")), RunState::interrupted);
  EXPECT_EQ(state(folder, run + end_line("failed")), RunState::failed);
  EXPECT_EQ(state(folder, run + "{\"kind\":\"end\",\"epoch\":2}\n"), RunState::ended);
  EXPECT_EQ(state(folder, run + end_line("completed") + run_line("digits", 9, true)), RunState::running);
  EXPECT_EQ(state(folder, run + "garbage\n"), RunState::damaged);
}

TEST(RunState, WithoutAnEndIsRunningUntilTheRecordIsSilentForMuchLongerThanATick) {
  const fs::path folder = fresh_folder();
  const std::string quick = two_epochs("digits");
  EXPECT_EQ(state(folder, quick, 60), RunState::running);
  EXPECT_EQ(state(folder, quick, 600), RunState::stopped);
  const std::string slow = run_line("digits") + tick_line(1, 0) + tick_line(2, 3600);
  EXPECT_EQ(state(folder, slow, 7200), RunState::running);
  EXPECT_EQ(state(folder, slow, 4 * 3600), RunState::stopped);
}

TEST(RunState, IsRunningWhileAProcessHoldsTheFolder) {
  const fs::path folder = fresh_folder();
  constexpr double long_after = 1e6;
  put(folder / ".loupe.lock", std::to_string(::getpid()));
  // One that was killed leaves the file.
  EXPECT_EQ(state(folder, two_epochs("digits"), long_after), RunState::stopped);
  const Descriptor lock(folder / ".loupe.lock", O_RDWR);
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(state(folder, two_epochs("digits"), long_after), RunState::running);
  put(folder / ".loupe.lock", "no number");
  EXPECT_EQ(state(folder, two_epochs("digits"), long_after), RunState::stopped);
}

TEST(RunState, OfARunThatWasKeptAsideIsNeverRunning) {
  EXPECT_EQ(state(fresh_folder() / "older-1", two_epochs("digits"), 1), RunState::stopped);
}

}  // namespace
}  // namespace loupe::test
