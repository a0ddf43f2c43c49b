#include <gtest/gtest.h>
#include <loupe/files/epoch_file.h>

#include <charconv>
#include <cmath>

#include "fake.h"
#include "folder.h"

namespace loupe::test {
namespace {

/// Lines such as "3 text", of an epoch each; or "over", which is so only at the end.
bool read_numbered(std::istream& input, OldLine& line) {
  line = {};
  if (!std::getline(input, line.text) || input.eof()) return false;
  double epoch = 0;
  if (std::from_chars(line.text.data(), line.text.data() + line.text.size(), epoch).ec == std::errc()) {
    line.epoch = epoch;
    line.closes_epoch = true;
  }
  line.gives_way = line.text == "over";
  line.text += '\n';
  return true;
}

/// A visualizer's file of such lines, over one run.
class Numbered {
 public:
  Numbered(const Folder& folder, bool resumed) : file_(OutputPath("lines"), false, &read_numbered, host_.host()) {
    const std::string directory = folder / "";
    loupe_run run{};
    run.struct_size = sizeof run;
    run.flags = resumed ? LOUPE_RUN_RESUMED : 0;
    run.directory = directory.c_str();
    file_.begin(run);
  }
  void epoch(double number) { file_.write(number, number_text(number) + " text\n", {"fresh\n", "joined\n", ""}); }
  void over() { file_.write(INFINITY, "over\n", {"fresh\n", "joined\n", ""}); }
  const Strings& said() const { return host_.said; }

 private:
  FakeHost host_;
  EpochFile file_;
};

TEST(EpochFile, GrowsByWholeEpochsAndStartsAnewWithoutResume) {
  const Folder folder;
  for (int run = 1; run <= 2; ++run) {
    Numbered file(folder, false);
    file.epoch(1);
    file.epoch(2);
    EXPECT_EQ(text_of(folder / "lines"), "fresh\n1 text\n2 text\n");
  }
}

TEST(EpochFile, GoesOnBehindTheEpochsThatAreNotTrainedAgain) {
  const Folder folder;
  {
    Numbered file(folder, false);
    for (const double epoch : {1, 2, 3}) file.epoch(epoch);
  }
  Numbered file(folder, true);
  file.epoch(3);
  EXPECT_EQ(text_of(folder / "lines"), "fresh\n1 text\n2 text\njoined\n3 text\n");
  ASSERT_EQ(file.said().size(), 1u);
  EXPECT_NE(file.said()[0].find("goes on from epoch 3: removed its later epochs"), std::string::npos);
}

TEST(EpochFile, DropsWithoutAWordWhatIsTrueOnlyAtTheEnd) {
  const Folder folder;
  {
    Numbered file(folder, false);
    for (const double epoch : {1, 2}) file.epoch(epoch);
    file.over();
  }
  Numbered file(folder, true);
  file.epoch(3);
  EXPECT_EQ(text_of(folder / "lines"), "fresh\n1 text\n2 text\njoined\n3 text\n");
  EXPECT_EQ(file.said(), Strings());
  file.over();
  Numbered again(folder, true);
  again.epoch(2);
  EXPECT_EQ(text_of(folder / "lines"), "fresh\n1 text\njoined\n2 text\n");
  ASSERT_EQ(again.said().size(), 1u);
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

}  // namespace
}  // namespace loupe::test
