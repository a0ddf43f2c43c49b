#include "core/run_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "folder.h"
#include "pipeline/monitor.h"

namespace loupe {
namespace {

/// What is told while it lives.
class Told {
 public:
  Told() : before_(set_log_sink([this](int, const std::string& message) { messages.push_back(message); })) {}
  ~Told() { set_log_sink(before_); }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
  std::vector<std::string> messages;

 private:
  LogSink before_;
};

TEST(RunFolder, GivesASecondInspectorAFolderOfItsOwnAndTellsSo) {
  const Folder folder;
  const Told told;
  RunFolder first, second, third;
  EXPECT_EQ(first.take(folder.path("digits")), folder.path("digits"));
  EXPECT_EQ(told.messages, std::vector<std::string>{});
  EXPECT_EQ(second.take(folder.path("digits/")), folder.path("digits-2"));
  EXPECT_EQ(third.take(folder.path("digits")), folder.path("digits-3"));
  ASSERT_EQ(told.messages.size(), 2u);
  EXPECT_EQ(told.messages[0], "another inspector of this process is writing to '" + folder.path("digits/") +
                                  "'; the files of this run go to '" + folder.path("digits-2") + "'");
}

TEST(RunFolder, IsFreeAgainAfterItsRunAndLeavesNothingBehind) {
  const Folder folder;
  { EXPECT_EQ(RunFolder().take(folder.path("new/digits")), folder.path("new/digits")); }
  EXPECT_FALSE(std::filesystem::exists(folder.path("new/digits"))) << "the run wrote nothing";
  folder.write("digits/model.pt", "x");
  { EXPECT_EQ(RunFolder().take(folder.path("digits")), folder.path("digits")); }
  EXPECT_FALSE(std::filesystem::exists(folder.path("digits/.loupe.lock")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("digits/model.pt")));
}

TEST(RunFolder, OfAnotherProcessIsItsOwnUntilThatProcessEndsHoweverItEnds) {
  const Folder folder;
  const Told told;
  int ready[2], done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    RunFolder held;
    held.take(folder.path("digits"));
    char byte = 'x';
    if (write(ready[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1) _exit(1);
    _exit(0);  // as a killed process: nothing is given back
  }
  char byte = 'x';
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  {
    RunFolder second;
    EXPECT_EQ(second.take(folder.path("digits")), folder.path("digits-2"));
  }
  ASSERT_EQ(told.messages.size(), 1u);
  EXPECT_EQ(told.messages[0].find("process " + std::to_string(child) + " is writing to"), 0u) << told.messages[0];
  ASSERT_EQ(write(done[1], &byte, 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  RunFolder later;
  EXPECT_EQ(later.take(folder.path("digits")), folder.path("digits"));
  for (const int end : {ready[0], ready[1], done[0], done[1]}) close(end);
}

TEST(RunFolder, WritesNoLockThroughALinkThatAnotherLaid) {
  const Folder folder;
  folder.write("precious", "x");
  std::filesystem::create_directory(folder.path("digits"));
  std::filesystem::create_symlink(folder.path("precious"), folder.path("digits/.loupe.lock"));
  RunFolder run;
  EXPECT_EQ(run.take(folder.path("digits")), folder.path("digits"));
  EXPECT_EQ(std::filesystem::file_size(folder.path("precious")), 1u);
}

TEST(RunFolder, KeepsWhatEarlierRunsLeftTogetherAndNothingElse) {
  const Folder folder;
  const Told told;
  for (const std::string run : {"one", "two"}) {
    folder.write("digits/record.jsonl", run);
    folder.write("digits/report.html", run);
    folder.write("digits/events/1", run);
    folder.write("digits/model.pt", run);
    RunFolder taken;
    taken.take(folder.path("digits"));
    const std::vector<std::string> paths = {"record.jsonl", "report.html", "events/", "values.csv", "record.jsonl"};
    EXPECT_TRUE(taken.keep_older(paths));
    folder.write("digits/record.jsonl", "of this run");
    EXPECT_FALSE(taken.keep_older(paths)) << "by now it is this run's";
  }
  for (const char* kept : {"older-1", "older-2"}) {
    for (const char* name : {"record.jsonl", "report.html", "events/1"}) {
      EXPECT_TRUE(std::filesystem::exists(folder.path("digits/") + kept + "/" + name)) << kept << name;
    }
  }
  EXPECT_TRUE(std::filesystem::exists(folder.path("digits/model.pt")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("digits/report.html")));
  ASSERT_EQ(told.messages.size(), 2u);
  EXPECT_EQ(told.messages[1].find("what an earlier run left is kept in '" + folder.path("digits/older-2") + "'"), 0u);
}

TEST(RunFolder, KeepsTheIncidentsOfAnEarlierRunWithItsFilesAndLeavesItsOwn) {
  const Folder folder;
  const Told told;
  folder.write("digits/record.jsonl", "x");
  folder.write("digits/incident-412/about.json", "x");
  folder.write("digits/incident-412-2/about.json", "x");
  folder.write("digits/incident-notes/mine", "x");
  RunFolder run;
  run.take(folder.path("digits"));
  EXPECT_TRUE(run.keep_older({"record.jsonl"}));
  folder.write("digits/incident-412/about.json", "of this run");
  EXPECT_FALSE(run.keep_older({"report.html"}));
  for (const char* name : {"record.jsonl", "incident-412/about.json", "incident-412-2/about.json"})
    EXPECT_TRUE(std::filesystem::exists(folder.path("digits/older-1/") + name)) << name;
  EXPECT_TRUE(std::filesystem::exists(folder.path("digits/incident-412/about.json")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("digits/incident-412-2")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("digits/incident-notes/mine"))) << "no run wrote that";
  EXPECT_EQ(told.messages.size(), 1u);
}

TEST(RunFolder, LeavesIncidentsWhereTheRunHasNoFolderOfItsOwn) {
  const Folder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path(""));
  folder.write("incident-412/about.json", "x");
  RunFolder run;
  std::filesystem::current_path(before);
  run.take("");
  EXPECT_FALSE(run.keep_older({}));
  EXPECT_TRUE(std::filesystem::exists(folder.path("incident-412/about.json")));
}

TEST(RunFolder, MovesNoFolderThatIsNotWithinTheRuns) {
  const Folder folder;
  folder.write("other/theirs", "x");
  folder.write("digits/model.pt", "x");
  RunFolder run;
  run.take(folder.path("digits"));
  EXPECT_FALSE(run.keep_older({"../other", ".", "..", folder.path("other"), "/dev/null", "missing"}));
  EXPECT_TRUE(std::filesystem::exists(folder.path("other/theirs")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("digits/model.pt")));
}

TEST(RunFolder, TellsWhatItCannotKeep) {
  const std::string unmovable = "/sys/devices/system/cpu/online";
  ASSERT_TRUE(std::filesystem::is_regular_file(unmovable));
  const Told told;
  RunFolder run;
  EXPECT_FALSE(run.keep_older({unmovable}));
  ASSERT_EQ(told.messages.size(), 1u);
  EXPECT_EQ(told.messages[0].find("what an earlier run left in '" + unmovable + "' cannot be kept: "), 0u);
}

/// A run of some epochs that records its loss.
class RecordedRun {
 public:
  explicit RecordedRun(const Folder& folder, const std::string& more = "")
      : monitor_(Config::from_text(
            "run: {dir: " + folder.path("digits") + more + "}\nlenses: [loss_metrics]\nvisualizers: [record]\n",
            "a.yaml", "/")) {}
  void tick(std::optional<double> epoch = std::nullopt) {
    monitor_.push("train_loss", 1, LOUPE_EVENT_LOSS | LOUPE_EVENT_TRAINING);
    monitor_.tick(epoch);
  }
  static std::size_t lines(const std::string& file) {
    std::ifstream input(file);
    std::size_t count = 0;
    for (std::string line; std::getline(input, line);) ++count;
    return count;
  }

 private:
  Monitor monitor_;
};

TEST(RecordedRun, IsKeptWhenItsConfigurationRunsAgainButNotWhereThatFailsBeforeItsFirstEpoch) {
  const Folder folder;
  const Told told;
  { RecordedRun(folder).tick(); }
  const std::size_t lines = RecordedRun::lines(folder.path("digits/record.jsonl"));
  ASSERT_GT(lines, 0u);
  EXPECT_EQ(told.messages, std::vector<std::string>{});
  { RecordedRun fails(folder); }
  EXPECT_EQ(told.messages, std::vector<std::string>{});
  {
    RecordedRun again(folder);
    again.tick();
    again.tick();
  }
  EXPECT_EQ(RecordedRun::lines(folder.path("digits/older-1/record.jsonl")), lines);
  EXPECT_GT(RecordedRun::lines(folder.path("digits/record.jsonl")), lines);
  EXPECT_EQ(told.messages.size(), 1u);
}

TEST(RecordedRun, KeepsTheIncidentsOfAnEarlierRunWhereNothingElseIsWritten) {
  const Folder folder;
  const Told told;
  folder.write("digits/incident-412/about.json", "x");
  Monitor monitor(
      Config::from_text("run: {dir: " + folder.path("digits") + "}\nlenses: [loss_metrics]\n", "a.yaml", "/"));
  monitor.push("train_loss", 1, LOUPE_EVENT_LOSS | LOUPE_EVENT_TRAINING);
  monitor.tick(std::nullopt);
  EXPECT_TRUE(std::filesystem::exists(folder.path("digits/older-1/incident-412/about.json")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("digits/incident-412")));
  EXPECT_EQ(told.messages.size(), 1u);
}

TEST(RecordedRun, GoesOnInItsFilesWhenResumedAndIsAskedAboutItOtherwise) {
  const Folder folder;
  const Told told;
  { RecordedRun(folder).tick(); }
  { RecordedRun(folder, ", resume: true").tick(2); }
  EXPECT_FALSE(std::filesystem::exists(folder.path("digits/older-1")));
  EXPECT_EQ(told.messages, std::vector<std::string>{});
  { RecordedRun(folder).tick(3); }
  ASSERT_EQ(told.messages.size(), 2u);
  EXPECT_NE(told.messages[1].find("set 'resume: true' under run"), std::string::npos);
}

TEST(RecordedRun, BesideAnotherHasAFolderOfItsOwn) {
  const Folder folder;
  const Told told;
  RecordedRun first(folder), second(folder);
  first.tick();
  second.tick();
  first.tick();
  EXPECT_EQ(told.messages.size(), 1u);
  EXPECT_EQ(RecordedRun::lines(folder.path("digits-2/record.jsonl")) + 3,
            RecordedRun::lines(folder.path("digits/record.jsonl")))
      << "a value, a band and a tick more";
}

}  // namespace
}  // namespace loupe
