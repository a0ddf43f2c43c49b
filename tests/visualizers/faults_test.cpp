// How the visualizers that write files handle failed writes.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "../holds.h"
#include "driver.h"
#include "paths.h"

namespace loupe::test {
namespace {

struct Writer {
  const char* name;
  std::string plugin;
  const char* file;
  std::size_t lines_of_two_epochs;
  std::size_t lines_of_one;
};

void PrintTo(const Writer& writer, std::ostream* output) {
  *output << writer.name;
}

class Faults : public testing::TestWithParam<Writer> {
 protected:
  const Writer& writer() const { return GetParam(); }
  std::size_t lines(const std::string& file) const { return lines_of(read(file)).size(); }
};

INSTANTIATE_TEST_SUITE_P(All, Faults,
                         testing::Values(Writer{"record", RECORD_PLUGIN, "record.jsonl", 5, 3},
                                         Writer{"csv", CSV_PLUGIN, "values.csv", 3, 2},
                                         Writer{"prometheus", PROMETHEUS_PLUGIN, "loupe.prom", 18, 18}),
                         [](const auto& writer) { return std::string(writer.param.name); });

TEST_P(Faults, ReportsADirectoryInTheWayAndTriesAgain) {
  const Folder folder;
  const std::string file = folder / writer().file;
  std::filesystem::create_directory(file);
  Driver driver(writer().plugin);
  EXPECT_EQ(driver.begin(folder.text()), "");
  ASSERT_EQ(driver.messages.size(), 1u);
  EXPECT_EQ(driver.messages[0].find("cannot write '" + file + "': Is a directory; "), 0u) << driver.messages[0];
  const std::string told = driver.loss_tick(1, 1);
  EXPECT_EQ(told.find("cannot write '" + file + "': Is a directory; "), 0u) << told;
  EXPECT_TRUE(holds(told, "epoch 1 "));
  std::filesystem::remove(file);
  EXPECT_EQ(driver.loss_tick(2, 2), "");
  EXPECT_EQ(lines(file), writer().lines_of_two_epochs);
}

TEST_P(Faults, ReportsAPatternWithoutAMatchAfterThreeTicksOnce) {
  const Folder folder;
  Driver driver(writer().plugin, {{"tags", Strings{"Wieght Norm", "Loss"}}, {"layers", Strings{"fc*", "conv9"}}});
  driver.begin(folder.text());
  for (int epoch = 1; epoch < 6; ++epoch) {
    driver.begin_tick(epoch);
    driver.value("Loss", "Loss", "mean", 1);
    driver.value("Weight Norm", "fc1", "mean", 1);
    driver.value("Weight Norm", "conv1", "mean", 1);
    EXPECT_EQ(driver.end_tick(), "");
    EXPECT_EQ(driver.messages.size(), epoch < 3 ? 0u : 2u);
  }
  driver.end();
  EXPECT_EQ(driver.messages,
            (std::vector<std::string>{"no tag fits 'Wieght Norm' given in tags; did you mean 'Weight Norm'?",
                                      "no layer fits 'conv9' given in layers; did you mean 'conv1'?"}));
}

TEST_P(Faults, ReportsAPatternOfAShortRunAtItsEndUnlessItMatchesLate) {
  const Folder folder;
  Driver driver(writer().plugin, {{"tags", Strings{"Accuracy", "Lost"}}});
  driver.begin(folder.text());
  driver.begin_tick(1);
  driver.value("Loss", "Loss", "mean", 1);
  driver.end_tick();
  driver.begin_tick(2);
  driver.value("Accuracy", "Accuracy", "mean", 1);
  driver.end_tick();
  EXPECT_EQ(driver.messages, std::vector<std::string>{});
  driver.end();
  EXPECT_EQ(driver.messages, std::vector<std::string>{"no tag fits 'Lost' given in tags; did you mean 'Loss'?"});
}

TEST_P(Faults, ReportsAFileInPlaceOfAFolder) {
  const Folder folder;
  write(folder / "runs", "");
  Driver driver(writer().plugin);
  EXPECT_EQ(driver.begin(folder / "runs/digits"), "");
  ASSERT_EQ(driver.messages.size(), 1u);
  const std::string& told = driver.messages[0];
  EXPECT_EQ(told.find("cannot write '" + (folder / "runs/digits/") + writer().file + "': Not a directory; "), 0u)
      << told;
  EXPECT_NE(driver.loss_tick(1, 1), "");
  std::filesystem::remove(folder / "runs");
  EXPECT_EQ(driver.loss_tick(2, 2), "");
  EXPECT_EQ(lines(folder / "runs/digits/" + writer().file), writer().lines_of_two_epochs);
}

TEST_P(Faults, AReadOnlyFolderIsNamedAtOnceAndTriedAgain) {
  const Folder folder;
  const std::string directory = folder / "run";
  std::filesystem::create_directory(directory);
  std::filesystem::permissions(folder.text(), std::filesystem::perms(0755));
  std::filesystem::permissions(directory, std::filesystem::perms(0555));
  Driver driver(writer().plugin);  // load it before the user changes, who may not be able to read the build folder
  constexpr uid_t nobody = 65534;
  const uid_t user = geteuid();
  // Root may write despite the permissions, so become another user.
  const bool changed = user == 0 && seteuid(nobody) == 0;
  ASSERT_NE(geteuid(), 0u);
  driver.begin(directory);
  const std::string told = driver.messages.empty() ? "nothing" : driver.messages[0];
  const std::string told_again = driver.loss_tick(1, 1);
  if (changed) {
    ASSERT_EQ(seteuid(user), 0);
  }
  EXPECT_EQ(told.find("cannot write '" + directory + "/" + writer().file + "': Permission denied; "), 0u) << told;
  EXPECT_EQ(told_again.find("cannot write '" + directory + "/" + writer().file + "': Permission denied; "), 0u);
  std::filesystem::permissions(directory, std::filesystem::perms(0755));
  EXPECT_EQ(driver.loss_tick(2, 2), "");
  EXPECT_EQ(lines(directory + "/" + writer().file), writer().lines_of_two_epochs);
}

TEST_P(Faults, ReportsAFullDeviceAtEachTickAndAtTheEnd) {
  Driver driver(writer().plugin, {{"path", "/dev/full"}});
  EXPECT_EQ(driver.begin("/anywhere"), "");
  for (int epoch = 1; epoch <= 2; ++epoch) {
    const std::string told = driver.loss_tick(epoch, 1);
    EXPECT_EQ(told.find("cannot write '/dev/full': No space left on device; "), 0u) << told;
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  if (std::string(writer().name) == "prometheus") return;  // it has shown everything at its ticks already
  EXPECT_EQ(driver.end(), "cannot write '/dev/full': No space left on device; the data of epochs 1 to 2 is lost");
  EXPECT_EQ(driver.end(), "");
}

TEST_P(Faults, ReportsALinkCreatedDuringTheRunAndDoesNotFollowIt) {
  const Folder folder;
  const std::string file = folder / writer().file;
  write(folder / "victim", "precious\n");
  Driver driver(writer().plugin);
  driver.begin(folder.text());
  EXPECT_EQ(driver.loss_tick(1, 1), "");
  std::filesystem::remove(file);
  std::filesystem::create_symlink(folder / "victim", file);
  const std::string told = driver.loss_tick(2, 2);
  EXPECT_EQ(told.find("cannot write '" + file + "': it is a symbolic link"), 0u) << told;
  EXPECT_EQ(read(folder / "victim"), "precious\n");
  std::filesystem::remove(file);
  EXPECT_EQ(driver.loss_tick(3, 3), "");
  EXPECT_TRUE(std::filesystem::is_regular_file(file));
}

TEST_P(Faults, RecreatesAFolderRemovedDuringTheRun) {
  const Folder folder;
  Driver driver(writer().plugin);
  driver.begin(folder / "run");
  driver.tag("Loss");
  EXPECT_EQ(driver.loss_tick(1, 1), "");
  std::filesystem::remove_all(folder / "run");
  EXPECT_EQ(driver.loss_tick(2, 2), "");
  const std::size_t tags = std::string(writer().name) == "record" ? 1 : 0;
  EXPECT_EQ(lines(folder / "run/" + writer().file), writer().lines_of_one + tags);
}

TEST_P(Faults, KeepsARelativePathWhenTheTrainerChangesItsFolder) {
  const Folder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.text());
  Driver driver(writer().plugin);
  const std::string told = driver.begin("");
  std::filesystem::current_path(before);
  EXPECT_EQ(told, "");
  EXPECT_EQ(driver.loss_tick(1, 1), "");
  EXPECT_TRUE(std::filesystem::exists(folder / writer().file));
}

TEST_P(Faults, RefusesAnEmptyPath) {
  EXPECT_THROW(
      {
        try {
          Driver(writer().plugin, {{"path", ""}});
        } catch (const Error& error) {
          EXPECT_STREQ(error.what(), "the option 'path' is empty; name a file");
          EXPECT_EQ(error.status(), LOUPE_INVALID);
          throw;
        }
      },
      Error);
}

class LimitedFiles : public Faults {};

INSTANTIATE_TEST_SUITE_P(Growing, LimitedFiles,
                         testing::Values(Writer{"record", RECORD_PLUGIN, "record.jsonl", 0, 0},
                                         Writer{"csv", CSV_PLUGIN, "values.csv", 0, 0}),
                         [](const auto& writer) { return std::string(writer.param.name); });

// A limit on a file's size cuts a write short like a full disk; otherwise, it would also kill the process.
TEST_P(LimitedFiles, WriteAnEpochThatDidNotFitCompletelyLater) {
  const Folder folder;
  const std::string file = folder / writer().file;
  Driver driver(writer().plugin);
  driver.begin(folder.text());
  driver.loss_tick(1, 1);
  const std::string whole = read(file);
  std::string told, left;
  {
    const FullDisk full(whole.size() + 10);
    told = driver.loss_tick(2, 2);
    left = read(file);
  }
  EXPECT_EQ(told,
            "cannot write '" + file + "': File too large; epoch 2 is kept in memory until the file can be written");
  EXPECT_EQ(left, whole);
  EXPECT_EQ(driver.loss_tick(3, 3), "");
  const auto added = lines_of(read(file).substr(whole.size()));
  EXPECT_EQ(std::count_if(added.begin(), added.end(),
                          [](const std::string& line) { return line.find("train_loss") != std::string::npos; }),
            2);
}

TEST_P(LimitedFiles, KeepAnEarlierRunsFileWhileItsReplacementCannotBeWritten) {
  const Folder folder;
  const std::string file = folder / writer().file;
  write(file, "precious\n");
  Driver driver(writer().plugin);
  driver.begin(folder.text());
  std::string told;
  {
    const FullDisk full(10);
    told = driver.loss_tick(1, 1);
  }
  EXPECT_TRUE(holds(told, "File too large"));
  EXPECT_EQ(read(file), "precious\n");
  EXPECT_FALSE(std::filesystem::exists(file + ".tmp"));
  EXPECT_EQ(driver.end(), "");
  EXPECT_NE(read(file), "precious\n");
}

TEST(Record, HasALineForLostEpochs) {
  const Folder folder;
  Driver record(RECORD_PLUGIN);
  record.begin(folder.text());
  const std::string layer(20 << 20, 'x');
  const auto tick = [&](int epoch) {
    record.begin_tick(epoch);
    record.value("T", layer, "mean", 1);
    return record.end_tick();
  };
  {
    const FullDisk full(1000);
    for (int epoch = 1; epoch <= 5; ++epoch) EXPECT_NE(tick(epoch), "");
  }
  EXPECT_EQ(tick(6), "");
  // The record is long enough to be compressed.
  ASSERT_EQ(std::system(("gunzip -k '" + (folder / "record.jsonl.gz") + "'").c_str()), 0);
  const std::string text = read(folder / "record.jsonl");
  const std::size_t note = text.find("the data of epochs 1 to 2 is lost"), third = text.find("\"epoch\":3,\"tag\"");
  EXPECT_NE(note, std::string::npos);
  EXPECT_LT(note, third);
  EXPECT_EQ(text.find("\"epoch\":2,"), std::string::npos);
}

}  // namespace
}  // namespace loupe::test
