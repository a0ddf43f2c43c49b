// How the host handles its parts, each a library that may be missing or from another build.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "examples/process.h"
#include "paths.h"

namespace {

namespace fs = std::filesystem;
using loupe::test::Finished;

class Parts : public testing::TestWithParam<std::string> {
 protected:
  std::string file() const { return GetParam() + ".so"; }
  Finished probe(const std::string& what) const {
    return loupe::test::run(LOUPE_PROBE + " " + what + " " + GetParam(), folder_);
  }
  /// Runs the probe with a copy of the library and its parts, one of which the test has changed.
  Finished probe_copy(const std::string& what) const {
    return loupe::test::run(
        "LD_LIBRARY_PATH=" + (folder_ / "lib").string() + " " + LOUPE_PROBE + " " + what + " " + GetParam(), folder_);
  }
  /// Copies the library and its parts; returns the path of the copied part.
  fs::path copy() const {
    const fs::path here = folder_ / "lib";
    fs::create_directories(here / "loupe");
    fs::copy_file(LOUPE_HOST, here / fs::path(LOUPE_HOST).filename());
    fs::copy(LOUPE_PARTS_FOLDER, here / "loupe/optional");
    fs::create_directory_symlink(LOUPE_PLUGINS_FOLDER, here / "loupe/plugins");
    return here / "loupe/optional" / file();
  }
  /// Changes a part so that it belongs to another build. Returns the version that it then requires of the host.
  static std::string change_build(const fs::path& part) {
    std::ifstream in(part, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    in.close();
    const std::string version = "LOUPE_PRIVATE_";
    const auto at = bytes.find(version);
    EXPECT_NE(at, std::string::npos) << "the part belongs to no build";
    if (at == std::string::npos) return "";
    std::reverse(bytes.begin() + static_cast<long>(at + version.size()),
                 bytes.begin() + static_cast<long>(at + version.size() + 16));
    fs::remove(part);
    std::ofstream(part, std::ios::binary) << bytes;
    return bytes.substr(at, version.size() + 16);
  }
  static long count(const std::string& text, const std::string& what) {
    long found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  }
  /// Expects exactly one message, which names the file, the reason and the remedy.
  void expect_told_once(const Finished& finished, const fs::path& part, const std::string& reason) const {
    EXPECT_EQ(finished.exit_code, 0) << finished.output;
    EXPECT_EQ(count(finished.output, "'" + part.string() + "'"), 1) << finished.output;
    EXPECT_EQ(count(finished.output, reason), 1) << finished.output;
    EXPECT_EQ(count(finished.output, "install all of Loupe"), 1) << finished.output;
  }

  const fs::path folder_ = loupe::test::fresh_folder();
};

TEST_P(Parts, AreOpenedWhenTheyAreNeeded) {
  EXPECT_EQ(probe("opens").output, "opened\n");
}

TEST_P(Parts, AreOpenedOnceByThreadsThatNeedThemSimultaneously) {
  EXPECT_EQ(probe("opens_on_threads").output, "opened\n");
}

TEST_P(Parts, AreOpenedInAForkedChildAndInItsParent) {
  EXPECT_EQ(probe("opens_in_child").output, "opened in the child\nopened\n");
}

TEST_P(Parts, AreOpenedAsTheProcessExits) {
  const Finished finished = probe("opens_as_process_exits");
  EXPECT_EQ(finished.output, "opened\n");
  EXPECT_EQ(finished.exit_code, 0);
}

TEST_P(Parts, AreNotOpenedDuringAnAbnormalEnd) {
  EXPECT_EQ(probe("asks_after_the_end").output, "no table\n");
}

TEST_P(Parts, AreFoundBesideTheLibraryThatIsLoaded) {
  copy();
  EXPECT_EQ(probe_copy("opens").output, "opened\n");
}

TEST_P(Parts, ThatAreMissingAreReportedOnce) {
  const fs::path part = copy();
  fs::remove(part);
  expect_told_once(probe_copy("opens_on_threads"), part, "No such file");
  expect_told_once(probe_copy("fails_in_parent_and_child"), part, "No such file");
}

TEST_P(Parts, OfAnotherBuildAreRefused) {
  const fs::path part = copy();
  const std::string version = change_build(part);
  expect_told_once(probe_copy("opens"), part, "version `" + version);
}

TEST_P(Parts, ThatEverybodyMayOverwriteAreRefused) {
  const fs::path part = copy();
  fs::permissions(part, fs::perms::others_write, fs::perm_options::add);
  expect_told_once(probe_copy("opens"), part, "everybody may write to it");
}

INSTANTIATE_TEST_SUITE_P(Each, Parts, testing::Values(LOUPE_PARTS), [](const auto& each) { return each.param; });

class PartsInTraining : public Parts {};

TEST_P(PartsInTraining, AreUsed) {
  const Finished finished = probe("trains");
  EXPECT_EQ(count(finished.output, "it is open\n"), 1) << finished.output;
  EXPECT_EQ(count(finished.output, "place in parts_probe.cpp"), 1) << finished.output;
}

TEST_P(PartsInTraining, AreNotNeeded) {
  const fs::path part = copy();
  fs::remove(part);
  const Finished finished = probe_copy("trains");
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_EQ(count(finished.output, part.string()), 1) << finished.output;
  EXPECT_EQ(count(finished.output, "it is not open\n"), 1) << finished.output;
  EXPECT_EQ(count(finished.output, "no place\n"), GetParam() == "lines" ? 1 : 0) << finished.output;
}

INSTANTIATE_TEST_SUITE_P(Each, PartsInTraining, testing::Values("lines", "services", "timing"),
                         [](const auto& each) { return each.param; });

class PartsOfUsualRuns : public Parts {};

TEST_F(PartsOfUsualRuns, AreNotOpened) {
  const Finished finished =
      loupe::test::run("env -u RANK -u WORLD_SIZE -u LOUPE_CHECK " + LOUPE_PROBE + " trains_as_usual", folder_);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_TRUE(fs::exists(folder_ / "r/record.jsonl")) << finished.output;
  EXPECT_EQ(count(finished.output, "/loupe/optional/"), 0) << finished.output;
}

/// Tests of a run with two processes.
class RanksPart : public Parts {
 protected:
  const std::string job_ = "WORLD_SIZE=2 TORCHELASTIC_RUN_ID='" + folder_.string() + "'";
  /// Trains with the build's parts on rank 0, and the copy's on rank 1. Returns their output.
  std::pair<Finished, Finished> train_with_copy() const {
    const std::string second =
        "RANK=1 LD_LIBRARY_PATH=" + (folder_ / "lib").string() + " " + LOUPE_PROBE + " trains_as_usual";
    const Finished first =
        loupe::test::run("export " + job_ + "; { " + second + "; echo ended $?; } > second 2>&1 & RANK=0 " +
                             LOUPE_PROBE + " trains_as_usual; ended=$?; wait; exit $ended",
                         folder_);
    return {first,
            {count(loupe::test::text_of(folder_ / "second"), "ended 0\n") == 1 ? 0 : 1,
             loupe::test::text_of(folder_ / "second")}};
  }
  void expect_rank_0_alone(const fs::path& part, const std::string& reason) const {
    const auto [first, second] = train_with_copy();
    expect_told_once(second, part, reason);
    EXPECT_EQ(count(second.output, "the numbers of the processes are not merged"), 1) << second.output;
    EXPECT_TRUE(fs::exists(folder_ / "r/rank-1/record.jsonl")) << "rank 1 keeps its own record";
    EXPECT_EQ(first.exit_code, 0) << first.output;
    EXPECT_EQ(count(first.output, "numbers come from 1 of 2 ranks: rank 1 never came"), 1) << first.output;
  }
};

TEST_P(RanksPart, IsOpenInEachProcess) {
  copy();
  const auto [first, second] = train_with_copy();
  for (const Finished& each : {first, second}) {
    EXPECT_EQ(each.exit_code, 0) << each.output;
    EXPECT_EQ(count(each.output, "/loupe/optional/ranks.so\n"), 1) << each.output;
    EXPECT_EQ(count(each.output, "never came"), 0) << each.output;
  }
}

TEST_P(RanksPart, ThatOneProcessLacksIsNotRequired) {
  const fs::path part = copy();
  fs::remove(part);
  expect_rank_0_alone(part, "No such file");
}

TEST_P(RanksPart, ThatIsFromAnotherBuildInOneProcessIsNotRequired) {
  const fs::path part = copy();
  expect_rank_0_alone(part, "version `" + change_build(part));
}

TEST_P(RanksPart, IsNotUsedByAForkedChild) {
  const Finished finished =
      loupe::test::run("RANK=0 " + job_ + " " + LOUPE_PROBE + " forks_once_it_has_joined", folder_);
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  EXPECT_EQ(count(finished.output, "the child is done\n"), 1) << finished.output;
  EXPECT_EQ(count(finished.output, "the child has ended\n"), 1) << finished.output;
  EXPECT_EQ(count(finished.output, "numbers come from 1 of 2 ranks: rank 1 never came"), 1) << finished.output;
}

INSTANTIATE_TEST_SUITE_P(Ranks, RanksPart, testing::Values("ranks"));

}  // namespace
