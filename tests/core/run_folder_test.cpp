#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "core/run_folder.h"
#include "folder.h"
#include "says.h"

namespace {
bool has_no_locks = false;
}
/// Replaces the C library's flock, so that a test can simulate a file system without locks.
extern "C" int flock(int descriptor, int operation) noexcept {
  if (!has_no_locks) return static_cast<int>(::syscall(SYS_flock, descriptor, operation));
  errno = ENOLCK;
  return -1;
}

namespace loupe {
namespace {

class RunFolder : public testing::Test {
 protected:
  const Folder folder;
  const LogCapture told;
};

TEST_F(RunFolder, GivesASecondInspectorASeparateFolderAndReportsIt) {
  loupe::RunFolder first, second, third;
  EXPECT_EQ(first.take(folder.path("digits")), folder.path("digits"));
  EXPECT_EQ(told.messages, std::vector<std::string>{});
  EXPECT_EQ(second.take(folder.path("digits/")), folder.path("digits-2"));
  EXPECT_EQ(third.take(folder.path("digits")), folder.path("digits-3"));
  ASSERT_EQ(told.messages.size(), 2u);
  EXPECT_EQ(told.messages[0], "another inspector of this process is writing to '" + folder.path("digits/") +
                                  "'; the files of this run go to '" + folder.path("digits-2") + "'");
}

TEST_F(RunFolder, IsFreeAfterItsRunAndLeavesNothing) {
  { EXPECT_EQ(loupe::RunFolder().take(folder.path("new/digits")), folder.path("new/digits")); }
  EXPECT_FALSE(std::filesystem::exists(folder.path("new/digits"))) << "the run wrote nothing";
  folder.write("digits/model.pt", "x");
  { EXPECT_EQ(loupe::RunFolder().take(folder.path("digits")), folder.path("digits")); }
  EXPECT_FALSE(std::filesystem::exists(folder.path("digits/.loupe.lock")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("digits/model.pt")));
}

TEST_F(RunFolder, OfAnotherProcessIsHeldUntilThatProcessEnds) {
  int ready[2], done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    loupe::RunFolder held;
    held.take(folder.path("digits"));
    char byte = 'x';
    if (write(ready[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1) _exit(1);
    _exit(0);  // exits like a killed process, without returning the folder
  }
  char byte = 'x';
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  {
    loupe::RunFolder second;
    EXPECT_EQ(second.take(folder.path("digits")), folder.path("digits-2"));
  }
  ASSERT_EQ(told.messages.size(), 1u);
  EXPECT_EQ(told.messages[0].find("process " + std::to_string(child) + " is writing to"), 0u) << told.messages[0];
  ASSERT_EQ(write(done[1], &byte, 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  loupe::RunFolder later;
  EXPECT_EQ(later.take(folder.path("digits")), folder.path("digits"));
  for (const int end : {ready[0], ready[1], done[0], done[1]}) close(end);
}

TEST_F(RunFolder, ThatWasMovedOrDeletedIsTakenAnewOnce) {
  loupe::RunFolder run;
  run.take(folder.path("digits"));
  EXPECT_FALSE(run.is_lost());
  std::filesystem::rename(folder.path("digits"), folder.path("moved"));
  EXPECT_TRUE(run.is_lost());
  EXPECT_EQ(run.retake(folder.path("digits")), folder.path("digits"));
  EXPECT_FALSE(run.is_lost());
  std::filesystem::remove_all(folder.path("digits"));
  EXPECT_TRUE(run.is_lost());
  ASSERT_EQ(told.messages.size(), 1u);
  EXPECT_EQ(told.messages[0], "the folder '" + folder.path("digits") +
                                  "' was moved or deleted while this run was writing there; from now on the files of "
                                  "this run go to a new folder of that name");
}

TEST_F(RunFolder, BehindALinkIsTheTargetOfTheLink) {
  std::filesystem::create_directory(folder.path("real"));
  std::filesystem::create_directory_symlink("real", folder.path("digits"));
  loupe::RunFolder run;
  run.take(folder.path("digits"));
  EXPECT_FALSE(run.is_lost());
  std::filesystem::rename(folder.path("real"), folder.path("elsewhere"));
  EXPECT_TRUE(run.is_lost()) << "the link's target was moved";
  std::filesystem::remove(folder.path("digits"));
  std::filesystem::create_directory_symlink("elsewhere", folder.path("digits"));
  EXPECT_FALSE(run.is_lost()) << "the new link leads to the moved folder";
  std::filesystem::remove(folder.path("digits"));
  std::filesystem::create_directory(folder.path("another"));
  std::filesystem::create_directory_symlink("another", folder.path("digits"));
  EXPECT_TRUE(run.is_lost());
  EXPECT_EQ(told.messages, Texts{});
}

TEST_F(RunFolder, WithADeletedLockIsLockedAgain) {
  loupe::RunFolder run, second;
  run.take(folder.path("digits"));
  std::filesystem::remove(folder.path("digits/.loupe.lock"));
  EXPECT_FALSE(run.is_lost());
  EXPECT_EQ(second.take(folder.path("digits")), folder.path("digits-2"));
  std::filesystem::remove(folder.path("digits/.loupe.lock"));
  loupe::RunFolder third;
  EXPECT_EQ(third.take(folder.path("digits")), folder.path("digits"));
  EXPECT_TRUE(run.is_lost()) << "the third run locked it before this one";
}

TEST_F(RunFolder, WithoutLocksIsTakenWithAWarning) {
  has_no_locks = true;
  loupe::RunFolder run;
  EXPECT_EQ(run.take(folder.path("digits")), folder.path("digits"));
  has_no_locks = false;
  EXPECT_SAYS(only(told.messages), "'" + folder.path("digits") + "' cannot be locked (No locks available)");
  EXPECT_SAYS(only(told.messages), "run.dir");
}

TEST_F(RunFolder, ThatAnotherRunTookIsLeftToThatRun) {
  loupe::RunFolder first, second;
  first.take(folder.path("digits"));
  std::filesystem::rename(folder.path("digits"), folder.path("moved"));
  second.take(folder.path("digits"));
  EXPECT_TRUE(first.is_lost());
  EXPECT_EQ(first.retake(folder.path("digits")), folder.path("digits-2"));
  EXPECT_TRUE(std::filesystem::exists(folder.path("digits/.loupe.lock"))) << "the second run's lock";
  EXPECT_FALSE(second.is_lost());
  ASSERT_EQ(told.messages.size(), 1u);
  EXPECT_EQ(told.messages[0], "the folder '" + folder.path("digits") +
                                  "' was moved or deleted while this run was writing there, and another inspector of "
                                  "this process writes there now; from now on the files of this run go to '" +
                                  folder.path("digits-2") + "'");
}

TEST_F(RunFolder, ReturnsTheResultOfAClaim) {
  loupe::RunFolder run, other;
  std::string directory = folder.path("digits"), taken = directory;
  EXPECT_FALSE(run.is_claimed());
  EXPECT_EQ(run.claim(directory, false), loupe::RunFolder::Claim::taken);
  EXPECT_EQ(run.claim(directory, false), loupe::RunFolder::Claim::held);
  EXPECT_TRUE(run.is_claimed());
  EXPECT_EQ(other.claim(taken, false), loupe::RunFolder::Claim::taken);
  EXPECT_EQ(taken, folder.path("digits-2"));
  std::filesystem::remove_all(directory);
  EXPECT_EQ(run.claim(directory, false), loupe::RunFolder::Claim::lost);
  EXPECT_EQ(directory, folder.path("digits"));
  directory = folder.path("letters");
  EXPECT_EQ(run.claim(directory, true), loupe::RunFolder::Claim::taken);
  EXPECT_EQ(directory, folder.path("letters"));
  EXPECT_FALSE(std::filesystem::exists(directory)) << "runs that share a folder do not create it";
}

TEST_F(RunFolder, LeavesTheLockOfTheRunThatTookItsName) {
  auto first = std::make_unique<loupe::RunFolder>();
  loupe::RunFolder second;
  first->take(folder.path("digits"));
  std::filesystem::rename(folder.path("digits"), folder.path("moved"));
  second.take(folder.path("digits"));
  first.reset();
  EXPECT_FALSE(second.is_lost());
}

TEST_F(RunFolder, WritesNoLockThroughASymbolicLink) {
  folder.write("precious", "x");
  std::filesystem::create_directory(folder.path("digits"));
  std::filesystem::create_symlink(folder.path("precious"), folder.path("digits/.loupe.lock"));
  loupe::RunFolder run;
  EXPECT_EQ(run.take(folder.path("digits")), folder.path("digits"));
  EXPECT_EQ(std::filesystem::file_size(folder.path("precious")), 1u);
}

TEST_F(RunFolder, KeepsFilesOfOneEarlierRunTogetherAndNothingElse) {
  for (const std::string run : {"one", "two"}) {
    folder.write("digits/record.jsonl", run);
    folder.write("digits/report.html", run);
    folder.write("digits/events/1", run);
    folder.write("digits/model.pt", run);
    loupe::RunFolder taken;
    taken.take(folder.path("digits"));
    const std::vector<std::string> paths = {"record.jsonl", "report.html", "events/", "values.csv", "record.jsonl"};
    EXPECT_TRUE(taken.keep_older(paths));
    folder.write("digits/record.jsonl", "of this run");
    EXPECT_FALSE(taken.keep_older(paths)) << "the record is this run's now";
  }
  for (const char* kept : {"older-1", "older-2"}) {
    for (const char* name : {"record.jsonl", "report.html", "events/1"}) {
      EXPECT_TRUE(std::filesystem::exists(folder.path("digits/") + kept + "/" + name)) << kept << name;
    }
  }
  EXPECT_TRUE(std::filesystem::exists(folder.path("digits/model.pt")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("digits/report.html")));
  ASSERT_EQ(told.messages.size(), 2u);
  EXPECT_EQ(told.messages[1].find("the files of an earlier run are kept in '" + folder.path("digits/older-2") + "'"),
            0u);
}

TEST_F(RunFolder, KeepsIncidentsOfAnEarlierRunWithItsFilesButNotItsOwn) {
  folder.write("digits/record.jsonl", "x");
  folder.write("digits/incident-412/about.json", "x");
  folder.write("digits/incident-412-2/about.json", "x");
  folder.write("digits/incident-notes/mine", "x");
  folder.write("digits/notes.json", "{}");
  folder.write(std::string("digits/") + loaded_file_name, "{}");
  loupe::RunFolder run;
  run.take(folder.path("digits"));
  EXPECT_TRUE(run.keep_older({"record.jsonl"}));
  folder.write("digits/incident-412/about.json", "of this run");
  EXPECT_FALSE(run.keep_older({"report.html"}));
  for (const char* name :
       {"record.jsonl", "incident-412/about.json", "incident-412-2/about.json", "notes.json", loaded_file_name})
    EXPECT_TRUE(std::filesystem::exists(folder.path("digits/older-1/") + name)) << name;
  EXPECT_TRUE(std::filesystem::exists(folder.path("digits/incident-412/about.json")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("digits/notes.json"))) << "it belongs to the earlier run";
  EXPECT_FALSE(std::filesystem::exists(folder.path("digits/incident-412-2")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("digits/incident-notes/mine"))) << "not a run's folder";
  EXPECT_EQ(told.messages.size(), 1u);
}

TEST_F(RunFolder, KeepsNotesOnlyWithTheirRecord) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path(""));
  folder.write("notes.json", "of this folder");
  folder.write("report.html", "x");
  folder.write("run/record.jsonl.gz", "x");
  folder.write("run/notes.json", "{}");
  loupe::RunFolder run;
  std::filesystem::current_path(before);
  run.take("");
  const std::vector<std::string> paths = {"report.html", "record.jsonl", "run/record.jsonl"};
  EXPECT_TRUE(run.keep_older(paths));
  EXPECT_TRUE(std::filesystem::exists(folder.path("older-1/report.html")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("notes.json"))) << "the folder has no record";
  EXPECT_TRUE(std::filesystem::exists(folder.path("run/older-1/record.jsonl.gz")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("run/older-1/notes.json")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("run/notes.json")));
  folder.write("record.jsonl", "of this run");
  folder.write("run/record.jsonl", "of this run");
  folder.write("run/notes.json", "of this run");
  EXPECT_FALSE(run.keep_older(paths));
  EXPECT_TRUE(std::filesystem::exists(folder.path("notes.json")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("run/notes.json")));
}

TEST_F(RunFolder, LeavesIncidentsOfARunWithoutASeparateFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path(""));
  folder.write("incident-412/about.json", "x");
  loupe::RunFolder run;
  std::filesystem::current_path(before);
  run.take("");
  EXPECT_FALSE(run.keep_older({}));
  EXPECT_TRUE(std::filesystem::exists(folder.path("incident-412/about.json")));
}

TEST_F(RunFolder, MovesNoFolderOutsideOfTheRuns) {
  folder.write("other/theirs", "x");
  folder.write("digits/model.pt", "x");
  loupe::RunFolder run;
  run.take(folder.path("digits"));
  EXPECT_FALSE(run.keep_older({"../other", ".", "..", folder.path("other"), "/dev/null", "missing"}));
  EXPECT_TRUE(std::filesystem::exists(folder.path("other/theirs")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("digits/model.pt")));
}

TEST_F(RunFolder, ReportsFilesThatItCannotKeep) {
  const std::string unmovable = "/sys/devices/system/cpu/online";
  ASSERT_TRUE(std::filesystem::is_regular_file(unmovable));
  loupe::RunFolder run;
  EXPECT_FALSE(run.keep_older({unmovable}));
  ASSERT_EQ(told.messages.size(), 1u);
  EXPECT_EQ(told.messages[0].find("files of an earlier run in '" + unmovable + "' cannot be kept: "), 0u);
}

// The process that holds a run's folder, as the folder's lock names it.
TEST(RunHolder, ReadsBackWhatItWrote) {
  const RunHolder self = RunHolder::this_process();
  EXPECT_EQ(self.process, ::getpid());
  EXPECT_TRUE(self.is_of_this_machine());
  EXPECT_LE(self.text().size(), longest_run_lock);
  const RunHolder read = RunHolder::in(self.text());
  EXPECT_EQ(read.process, self.process);
  EXPECT_EQ(read.host, self.host);
  EXPECT_TRUE(read.is_of_this_machine());
  EXPECT_EQ(read.in_words(), "process " + std::to_string(::getpid()));
}

TEST(RunHolder, OfAnotherMachineIsNamedWithTheMachine) {
  const RunHolder other = RunHolder::in("12 trainbox 0000/pid:[1]\n");
  EXPECT_EQ(other.in_words(), "process 12 on trainbox");
  EXPECT_FALSE(other.is_of_this_machine());
}

TEST(RunHolder, OfALockWithoutAMachineMayBeAnywhere) {
  const RunHolder old = RunHolder::in("12");
  EXPECT_EQ(old.process, 12);
  EXPECT_EQ(old.in_words(), "process 12");
  EXPECT_FALSE(old.is_of_this_machine());
}

TEST(RunHolder, IsUnknownInATextOfAnotherForm) {
  for (const char* text : {"", " 12", "x", "12x", "-12 host", "0 host", "4294967297 host machine"}) {
    EXPECT_EQ(RunHolder::in(text).process, 0) << text;
    EXPECT_EQ(RunHolder::in(text).in_words(), "another run") << text;
  }
}

}  // namespace
}  // namespace loupe
