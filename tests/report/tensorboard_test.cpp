#include "report/full_disk.h"
#include "visualizers/driver.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace loupe::test {
namespace {

std::vector<std::string> event_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The records' lengths; throws where the file ends within one.
std::vector<std::uint64_t> records(const std::string& file) {
  const std::string text = read(file);
  std::vector<std::uint64_t> lengths;
  for (std::size_t at = 0; at < text.size();) {
    std::uint64_t length = 0;
    for (int i = 7; i >= 0; --i)
      length = length << 8 | static_cast<unsigned char>(text.at(at + static_cast<std::size_t>(i)));
    at += 12 + length + 4;
    if (at > text.size()) throw std::runtime_error(file + " ends within a record");
    lengths.push_back(length);
  }
  return lengths;
}

TEST(TensorBoard, HasEveryTickInTheFileWhenItIsFlushed) {
  Folder folder;
  Driver board(TENSORBOARD_PLUGIN);
  ASSERT_EQ(board.begin(folder.text()), "");
  std::size_t before = 0;
  for (int epoch = 0; epoch < 4; ++epoch) {
    ASSERT_EQ(board.stored_loss_tick(epoch, 1), "");
    const auto files = event_files(folder / "tensorboard");
    ASSERT_EQ(files.size(), 1U);
    EXPECT_GT(records(files[0]).size(), before);
    before = records(files[0]).size();
  }
}

TEST(TensorBoard, WritesTheEndsOfBandsOnlyWhenToldToAndNamesNothingTwice) {
  for (const bool bands : {false, true}) {
    Folder folder;
    Driver board(TENSORBOARD_PLUGIN, {{"bands", bands}});
    board.begin(folder.text());
    board.tag("Loss", LOUPE_TAG_NUMERICAL, true);
    board.begin_tick(1);
    board.value("Loss", "Loss", "train_loss mean", 1);
    board.range("Loss", "Loss", "train_loss min", "train_loss max", 0, 2);
    board.value("Norm", "fc", "mean", 1);
    ASSERT_EQ(board.end_tick(), "");
    ASSERT_EQ(board.end(), "");
    const std::string text = read(event_files(folder / "tensorboard").at(0));
    const auto holds = [&](const char* part) { return text.find(part) != std::string::npos; };
    EXPECT_TRUE(holds("Loss/train_loss mean"));
    EXPECT_FALSE(holds("Loss/Loss"));
    EXPECT_TRUE(holds("Norm/fc/mean"));
    EXPECT_EQ(holds("train_loss max"), bands);
  }
}

TEST(TensorBoard, GivesASecondRunInTheSameFolderAFolderOfItsOwn) {
  Folder folder;
  Driver board(TENSORBOARD_PLUGIN, {{"path", folder / "logs"}});
  for (const char* name : {"a", "b/c", "b/c"}) {
    board.begin("", false, name);
    board.stored_loss_tick(0, 1);
    board.end();
  }
  EXPECT_EQ(event_files(folder / "logs").size(), 1U);
  EXPECT_EQ(event_files(folder / "logs/b_c").size(), 1U);
  EXPECT_EQ(event_files(folder / "logs/b_c-2").size(), 1U);
}

TEST(TensorBoard, NeverWritesIntoAnotherProcessesFile) {
  Folder folder;
  for (int i = 0; i < 3; ++i) {
    Driver board(TENSORBOARD_PLUGIN);
    board.begin(folder.text(), i > 0);
    board.stored_loss_tick(i, 1);
  }
  EXPECT_EQ(event_files(folder / "tensorboard").size(), 3U);
}

TEST(TensorBoard, LeavesNoHalfRecordWhenTheDiskIsFullAndWritesItLater) {
  Folder folder;
  Driver board(TENSORBOARD_PLUGIN);
  board.begin(folder.text());
  board.stored_loss_tick(0, 1);
  const std::string file = event_files(folder / "tensorboard")[0];
  const std::size_t before = records(file).size();
  {
    const FullDisk full(std::filesystem::file_size(file) + 10);
    const std::string sentence = board.stored_loss_tick(1, 1);
    EXPECT_NE(sentence.find(file), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("File too large"), std::string::npos) << sentence;
    EXPECT_EQ(records(file).size(), before);
  }
  EXPECT_EQ(board.stored_loss_tick(2, 1), "");
  EXPECT_EQ(records(file).size(), before + 2);
}

TEST(TensorBoard, SaysWhenItsFileHasGoneAndGoesOnInANewOne) {
  Folder folder;
  Driver board(TENSORBOARD_PLUGIN);
  board.begin(folder.text());
  board.stored_loss_tick(0, 1);
  std::filesystem::remove_all(folder / "tensorboard");
  EXPECT_EQ(board.stored_loss_tick(1, 1), "");
  ASSERT_EQ(board.messages.size(), 1U);
  EXPECT_NE(board.messages[0].find("has gone"), std::string::npos);
  EXPECT_EQ(event_files(folder / "tensorboard").size(), 1U);
}

TEST(TensorBoard, SaysInOneSentenceThatItCannotWriteAndTriesAgain) {
  Folder folder;
  write(folder / "obstacle", "");
  Driver board(TENSORBOARD_PLUGIN, {{"path", folder / "obstacle/logs"}});
  for (const std::string& sentence : {board.begin(folder.text()), board.stored_loss_tick(0, 1)}) {
    EXPECT_NE(sentence.find(folder / "obstacle/logs"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("Not a directory"), std::string::npos) << sentence;
  }
  std::filesystem::remove(folder / "obstacle");
  EXPECT_EQ(board.stored_loss_tick(1, 1), "");
  // The file's version, the start of the process, what is told of the run, the layout, and both ticks.
  EXPECT_EQ(records(event_files(folder / "obstacle/logs")[0]).size(), 6U);
}

TEST(TensorBoard, TakesAConfigThatIsNoYaml) {
  Folder folder;
  Driver board(TENSORBOARD_PLUGIN);
  const std::string directory = folder.text();
  EXPECT_EQ(board.begin(Driver::run_of(directory, false, "odd", "a: [")), "");
  EXPECT_EQ(board.stored_loss_tick(0, 1), "");
}

TEST(TensorBoard, TakesAHistogramWithoutElements) {
  Folder folder;
  Driver board(TENSORBOARD_PLUGIN);
  board.begin(folder.text());
  board.begin_tick(0);
  EXPECT_EQ(board.histogram("Weights", "fc", "weight", {-INFINITY, INFINITY}, {0}), "");
  EXPECT_EQ(board.end_tick(), "");
  EXPECT_EQ(board.flush(), "");
}

#ifdef LIBTORCH_LIBRARY
TEST(TensorBoard, WritesInAProcessThatHasLibTorchLoaded) {
  ASSERT_NE(dlopen(LIBTORCH_LIBRARY, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
  Folder folder;
  Driver board(TENSORBOARD_PLUGIN);
  board.begin(folder.text());
  EXPECT_EQ(board.stored_loss_tick(0, 1), "");
  EXPECT_EQ(records(event_files(folder / "tensorboard")[0]).size(), 5U);
}
#endif

}  // namespace
}  // namespace loupe::test
