#include <gtest/gtest.h>

#include "numbered.h"

namespace loupe::test {
namespace {

TEST(EpochFile, GrowsByWholeEpochsAndStartsAgainWithoutResume) {
  const Folder folder;
  for (int run = 1; run <= 2; ++run) {
    Numbered file(folder, false);
    file.epoch(1);
    file.epoch(2);
    EXPECT_EQ(text_of(folder / "lines"), "fresh\n1 text\n2 text\n");
  }
}

TEST(EpochFile, GoesOnBehindTheEpochsThatAreNotTrainedAgainAndKeepsAllThatWasThere) {
  const Folder folder;
  {
    Numbered file(folder, false);
    for (const double epoch : {1, 2, 3}) file.epoch(epoch);
  }
  Numbered file(folder, true);
  file.epoch(3);
  EXPECT_EQ(text_of(folder / "lines"), "fresh\n1 text\n2 text\njoined\n3 text\n");
  EXPECT_EQ(text_of(folder / "older-1/lines"), "fresh\n1 text\n2 text\n3 text\n");
  ASSERT_EQ(file.said().size(), 1u);
  EXPECT_NE(file.said()[0].find("it now continues from epoch 3"), std::string::npos) << file.said()[0];
  EXPECT_NE(file.said()[0].find((folder / "older-1/lines").string()), std::string::npos) << file.said()[0];
}

TEST(EpochFile, KeepsTheFileOfARunThatBeginsAgainAtTheFirstEpoch) {
  const Folder folder;
  std::string before;
  for (int run = 1; run <= 3; ++run) {
    Numbered file(folder, true);
    for (const double epoch : {1, 2}) file.epoch(epoch + (run == 1 ? 3 : 0));
    if (run > 1) {
      EXPECT_EQ(text_of(folder / ("older-" + std::to_string(run - 1) + "/lines").c_str()), before);
    }
    before = text_of(folder / "lines");
  }
  EXPECT_EQ(before, "fresh\n1 text\n2 text\n");
}

TEST(EpochFile, IsOnlyAppendedToIfEveryEpochStays) {
  const Folder folder;
  {
    Numbered file(folder, false);
    for (const double epoch : {1, 2}) file.epoch(epoch);
    file.over();
  }
  Numbered file(folder, true);
  file.epoch(3);
  EXPECT_EQ(text_of(folder / "lines"), "fresh\n1 text\n2 text\nover\njoined\n3 text\n");
  EXPECT_EQ(folder.names(), std::set<std::string>{"lines"});
  EXPECT_EQ(file.said(), Strings());
}

TEST(EpochFile, KeepsACopyOfAFileWithAnIncompleteLastLine) {
  const Folder folder;
  write(folder / "lines", "fresh\n1 text\n2 te");
  Numbered file(folder, true);
  file.epoch(2);
  EXPECT_EQ(text_of(folder / "lines"), "fresh\n1 text\njoined\n2 text\n");
  EXPECT_EQ(text_of(folder / "older-1/lines"), "fresh\n1 text\n2 te");
  ASSERT_EQ(file.said().size(), 1u);
  EXPECT_NE(file.said()[0].find("had a last line that was cut off"), std::string::npos) << file.said()[0];
}

TEST(EpochFile, WritesThroughNoLinkThatIsLaidMeanwhile) {
  const Folder folder;
  write(folder / "precious", "precious\n");
  Numbered file(folder, false);
  file.epoch(1);
  std::filesystem::remove(folder / "lines");
  std::filesystem::create_symlink(folder / "precious", folder / "lines");
  try {
    file.epoch(2);
    ADD_FAILURE() << "it wrote through the link";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.rfind("cannot write '" + (folder / "lines").string() + "': it is a symbolic link", 0), 0u);
    EXPECT_NE(message.find("remove the link; epoch 2 is kept in memory"), std::string::npos) << message;
  }
  EXPECT_EQ(text_of(folder / "precious"), "precious\n");
  std::filesystem::remove(folder / "lines");
  file.epoch(3);
  EXPECT_EQ(text_of(folder / "lines"), "fresh\n2 text\n3 text\n");
}

TEST(EpochFile, KeepsAnEpochThatCannotBeWrittenAndWritesItWithTheNext) {
  const Folder folder;
  std::filesystem::create_directory(folder / "lines");
  Numbered file(folder, false);
  EXPECT_EQ(file.said().size(), 1u);
  EXPECT_THROW(file.epoch(1), Error);
  std::filesystem::remove(folder / "lines");
  file.epoch(2);
  EXPECT_EQ(text_of(folder / "lines"), "fresh\n1 text\n2 text\n");
}

TEST(EpochFile, ReportsLostEpochsImmediatelyAndInTheFile) {
  const Folder folder;
  std::filesystem::create_directory(folder / "lines");
  Numbered file(folder, false);
  for (const double epoch : {1, 2, 3, 4, 5}) EXPECT_THROW(file.huge_epoch(epoch), Error);
  ASSERT_EQ(file.said().size(), 2u) << "one about the failed write, and one about lost epochs";
  EXPECT_NE(file.said()[1].find("epoch 1 is lost"), std::string::npos) << file.said()[1];
  std::filesystem::remove(folder / "lines");
  file.epoch(6);
  std::string text = text_of(folder / "lines");
  std::erase(text, ' ');
  EXPECT_EQ(text, "fresh\nthedataofepochs1to2islost\n3\n4\n5\n6text\n");
  ASSERT_EQ(file.said().size(), 3u);
  EXPECT_NE(file.said()[2].find("the data of epochs 1 to 2 is lost"), std::string::npos) << file.said()[2];
  file.epoch(7);
  EXPECT_EQ(file.said().size(), 3u);
}

TEST(EpochFile, CountsAllLostEpochsAtItsEnd) {
  const Folder folder;
  std::filesystem::create_directory(folder / "lines");
  Numbered file(folder, false);
  for (const double epoch : {1, 2, 3, 4, 5}) EXPECT_THROW(file.huge_epoch(epoch), Error);
  try {
    file.end();
    ADD_FAILURE() << "no exception was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the data of epochs 1 to 5 is lost"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace loupe::test
