#include "holds.h"
#include "paths.h"
#include "tensorboard/messages.h"
#include "tensorboard/summaries.h"
#include "visualizers/driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <protozero/pbf_message.hpp>

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

/// The lengths of the records; throws if the file ends within a record.
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

class TensorBoard : public testing::Test {
 protected:
  Folder folder;
};

TEST_F(TensorBoard, HasEveryTickInTheFileWhenItIsFlushed) {
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

TEST_F(TensorBoard, WritesTheEndsOfBandsOnlyWhenToldToAndNamesNothingTwice) {
  for (const bool bands : {false, true}) {
    Folder folder;
    Driver board(TENSORBOARD_PLUGIN, {{"bands", bands}});
    board.begin(folder.text());
    board.tag("Loss", LOUPE_SCALE_NUMERICAL, true);
    board.begin_tick(1);
    board.value("Loss", "Loss", "train_loss mean", 1);
    board.range("Loss", "Loss", "train_loss min", "train_loss max", 0, 2);
    board.value("Norm", "fc", "mean", 1);
    ASSERT_EQ(board.end_tick(), "");
    ASSERT_EQ(board.end(), "");
    const std::string text = read(event_files(folder / "tensorboard").at(0));
    EXPECT_TRUE(holds(text, "Loss/train_loss mean"));
    EXPECT_FALSE(holds(text, "Loss/Loss"));
    EXPECT_TRUE(holds(text, "Norm/mean/fc"));
    EXPECT_EQ(bool{holds(text, "train_loss max")}, bands);
  }
}

TEST_F(TensorBoard, ShowsOnlyTheWorstOfVeryManyFindings) {
  Driver board(TENSORBOARD_PLUGIN);
  ASSERT_EQ(board.begin(folder.text()), "");
  board.begin_tick(1);
  for (int i = 0; i <= 300; ++i) {
    const std::string message = "number" + std::to_string(i), layer = "layer" + std::to_string(i);
    loupe_finding finding{};
    finding.struct_size = sizeof finding;
    finding.rule = "dead_units";
    finding.layer = layer.c_str();
    finding.severity = i == 300 ? LOUPE_SEVERITY_ERROR : LOUPE_SEVERITY_WARNING;
    finding.message = message.c_str();
    EXPECT_EQ(board.finding(finding), "");
  }
  ASSERT_EQ(board.end_tick(), "");
  ASSERT_EQ(board.flush(), "");
  const std::string told = read(event_files(folder / "tensorboard").at(0));
  EXPECT_TRUE(holds(told, "number300"));
  EXPECT_TRUE(holds(told, "number198"));
  EXPECT_FALSE(holds(told, "number199"));
  EXPECT_TRUE(holds(told, "and 101 more"));
}

TEST_F(TensorBoard, GivesASecondRunInTheSameFolderItsOwnFolder) {
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

TEST_F(TensorBoard, NeverWritesIntoAnotherProcessesFile) {
  for (int i = 0; i < 3; ++i) {
    Driver board(TENSORBOARD_PLUGIN);
    board.begin(folder.text(), i > 0);
    board.stored_loss_tick(i, 1);
  }
  EXPECT_EQ(event_files(folder / "tensorboard").size(), 3U);
}

TEST_F(TensorBoard, LeavesNoHalfRecordWhenTheDiskIsFullAndWritesItLater) {
  Begun board(TENSORBOARD_PLUGIN);
  board.stored_loss_tick(0, 1);
  const std::string file = event_files(board / "tensorboard")[0];
  const std::size_t before = records(file).size();
  {
    const FullDisk full(std::filesystem::file_size(file) + 10);
    const std::string sentence = board.stored_loss_tick(1, 1);
    EXPECT_TRUE(holds(sentence, file));
    EXPECT_TRUE(holds(sentence, "File too large"));
    EXPECT_EQ(records(file).size(), before);
  }
  EXPECT_EQ(board.stored_loss_tick(2, 1), "");
  EXPECT_EQ(records(file).size(), before + 2);
}

TEST_F(TensorBoard, SaysWhenItsFileWasRemovedAndContinuesInANewOne) {
  Begun board(TENSORBOARD_PLUGIN);
  board.stored_loss_tick(0, 1);
  std::filesystem::remove_all(board / "tensorboard");
  EXPECT_EQ(board.stored_loss_tick(1, 1), "");
  ASSERT_EQ(board.messages.size(), 1U);
  EXPECT_TRUE(holds(board.messages[0], "was deleted with its content"));
  EXPECT_EQ(event_files(board / "tensorboard").size(), 1U);
}

TEST_F(TensorBoard, WritesThroughNoLinkLaidInTheMiddle) {
  write(folder / "victim", "precious");
  Driver board(TENSORBOARD_PLUGIN);
  board.begin(folder.text());
  board.stored_loss_tick(0, 1);
  const std::string file = event_files(folder / "tensorboard")[0];
  std::filesystem::remove(file);
  std::filesystem::create_symlink(folder / "victim", file);
  EXPECT_TRUE(holds(board.stored_loss_tick(1, 1), "it is a symbolic link"));
  EXPECT_EQ(read(folder / "victim"), "precious");
}

TEST_F(TensorBoard, SaysInOneSentenceThatItCannotWriteAndTriesAgain) {
  write(folder / "obstacle", "");
  Driver board(TENSORBOARD_PLUGIN, {{"path", folder / "obstacle/logs"}});
  for (const std::string& sentence : {board.begin(folder.text()), board.stored_loss_tick(0, 1)}) {
    EXPECT_TRUE(holds(sentence, folder / "obstacle/logs"));
    EXPECT_TRUE(holds(sentence, "Not a directory"));
  }
  std::filesystem::remove(folder / "obstacle");
  EXPECT_EQ(board.stored_loss_tick(1, 1), "");
  // The file's version, the start of the process, the run's description, the layout, and both ticks.
  EXPECT_EQ(records(event_files(folder / "obstacle/logs")[0]).size(), 6U);
}

TEST_F(TensorBoard, AcceptsAConfigurationThatIsNotYaml) {
  Driver board(TENSORBOARD_PLUGIN);
  const std::string directory = folder.text();
  EXPECT_EQ(board.begin(Driver::run_of(directory, false, "odd", "a: [")), "");
  EXPECT_EQ(board.stored_loss_tick(0, 1), "");
}

TEST_F(TensorBoard, AcceptsAHistogramWithoutElements) {
  Begun board(TENSORBOARD_PLUGIN);
  board.begin_tick(0);
  EXPECT_EQ(board.histogram("Weights", "fc", "weight", {-INFINITY, INFINITY}, {0}), "");
  EXPECT_EQ(board.end_tick(), "");
  EXPECT_EQ(board.flush(), "");
}

struct ShownHistogram {
  double minimum = NAN, maximum = NAN, count = NAN;
  std::vector<double> limits, buckets;
};

/// The written values of a histogram with three bins, whose neighbours in memory are not empty.
ShownHistogram shown(const std::array<double, 3>& bins) {
  namespace tb = tensorboard;
  const std::array<double, 6> edges{-7, 1, 2, 4, 8, 16};
  const std::array<double, 5> counts{9, bins[0], bins[1], bins[2], 9};
  Histogram histogram{};
  histogram.bin_count = bins.size();
  histogram.edges = edges.data() + 1;
  histogram.counts = counts.data() + 1;
  std::string summary;
  tb::add_histogram(summary, "weights", histogram);

  ShownHistogram shown;
  protozero::pbf_message<tb::Summary> message(summary);
  message.next(tb::Summary::message_value);
  protozero::pbf_message<tb::SummaryValue> value(message.get_message());
  value.next(tb::SummaryValue::message_histogram);
  protozero::pbf_message<tb::HistogramData> data(value.get_message());
  while (data.next()) {
    if (data.tag() == tb::HistogramData::double_minimum) {
      shown.minimum = data.get_double();
    } else if (data.tag() == tb::HistogramData::double_maximum) {
      shown.maximum = data.get_double();
    } else if (data.tag() == tb::HistogramData::double_count) {
      shown.count = data.get_double();
    } else if (data.tag() == tb::HistogramData::doubles_bucket_limit) {
      for (const double each : data.get_packed_double()) shown.limits.push_back(each);
    } else if (data.tag() == tb::HistogramData::doubles_bucket) {
      for (const double each : data.get_packed_double()) shown.buckets.push_back(each);
    } else {
      data.skip();
    }
  }
  return shown;
}

TEST(TensorBoardHistogram, LeavesOutEmptyBinsAtItsEndsAndReadsNoOtherMemory) {
  const ShownHistogram middle = shown({0, 5, 0});
  EXPECT_EQ(middle.minimum, 2);
  EXPECT_EQ(middle.maximum, 4);
  EXPECT_EQ(middle.count, 5);
  EXPECT_EQ(middle.limits, (std::vector<double>{2, 4}));
  EXPECT_EQ(middle.buckets, (std::vector<double>{0, 5}));
  const ShownHistogram whole = shown({1, 0, 2});
  EXPECT_EQ(whole.limits, (std::vector<double>{1, 2, 4, 8}));
  EXPECT_EQ(whole.buckets, (std::vector<double>{0, 1, 0, 2}));
  const ShownHistogram empty = shown({0, 0, 0});
  EXPECT_EQ(empty.minimum, empty.maximum);
  EXPECT_EQ(empty.count, 0);
  EXPECT_EQ(empty.buckets, std::vector<double>{0});
}

#ifdef LIBTORCH_LIBRARY
TEST_F(TensorBoard, WritesInAProcessThatHasLibTorchLoaded) {
  ASSERT_NE(dlopen(LIBTORCH_LIBRARY.c_str(), RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
  Begun board(TENSORBOARD_PLUGIN);
  EXPECT_EQ(board.stored_loss_tick(0, 1), "");
  EXPECT_EQ(records(event_files(board / "tensorboard")[0]).size(), 5U);
}
#endif

}  // namespace
}  // namespace loupe::test
