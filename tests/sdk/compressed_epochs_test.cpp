// A file of epochs that is compressed when it gets long. It stays complete and readable whatever happens.

#include <gtest/gtest.h>
#include <loupe/files/gzip.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <random>

#include "../report/full_disk.h"
#include "numbered.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

/// Compresses files from 500 bytes on; three long epochs are larger.
Compression soon() {
  Compression compression = gzip();
  compression.long_size = 500;
  return compression;
}

/// The complete lines of the file under either of its names, with or without ".gz".
std::string readable(const fs::path& file) {
  TextInput input(file);
  std::string text;
  for (std::string line; std::getline(input, line) && !input.eof();) text += line + "\n";
  return text;
}
std::string epochs(int first, int last) {
  std::string text;
  for (int epoch = first; epoch <= last; ++epoch) text += Numbered::long_text(epoch);
  return text;
}
/// The position of the end of each member of a file.
std::vector<std::uint64_t> ends_of_members(const fs::path& file) {
  std::vector<std::uint64_t> ends;
  for (TextPieces pieces(file); !pieces.next().empty();) ends.push_back(pieces.place().position);
  return ends;
}
void write_epochs(const Folder& folder, int last) {
  Numbered file(folder, false, soon());
  for (int epoch = 1; epoch <= last; ++epoch) file.long_epoch(epoch);
}

class CompressedEpochs : public testing::Test {
 protected:
  const Folder folder;
};

TEST_F(CompressedEpochs, ReplaceALongTextAndGrowByAMemberPerEpoch) {
  Numbered file(folder, false, soon());
  file.long_epoch(1);
  EXPECT_EQ(folder.names(), std::set<std::string>{"lines"});
  fs::permissions(folder / "lines", fs::perms(0640));
  file.long_epoch(2);
  file.long_epoch(3);
  EXPECT_EQ(folder.names(), std::set<std::string>{"lines.gz"});
  EXPECT_EQ(fs::status(folder / "lines.gz").permissions(), fs::perms(0640));
  const auto before = ends_of_members(folder / "lines.gz").size();
  for (const int epoch : {4, 5}) file.long_epoch(epoch);
  EXPECT_EQ(ends_of_members(folder / "lines.gz").size(), before + 2);
  EXPECT_EQ(readable(folder / "lines"), "fresh\n" + epochs(1, 5));
  EXPECT_EQ(file.said(), Strings{"'" + (folder / "lines").string() + "' has become long and is now compressed as '" +
                                 (folder / "lines.gz").string() + "'"});
}

TEST_F(CompressedEpochs, AreWrittenFromTheStartUnderANameWithGz) {
  Numbered file(folder, false, gzip(), "lines.gz");
  file.epoch(1);
  EXPECT_EQ(text_of(folder / "lines.gz").substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(readable(folder / "lines.gz"), "fresh\n1 text\n");
  EXPECT_EQ(file.said(), Strings());
}

TEST_F(CompressedEpochs, AreOnlyAppendedToByAResumedRunThatKeepsEveryEpoch) {
  write_epochs(folder, 4);
  const std::string before = text_of(folder / "lines.gz");
  Numbered file(folder, true, soon());
  file.long_epoch(5);
  EXPECT_EQ(text_of(folder / "lines.gz").substr(0, before.size()), before);
  EXPECT_EQ(readable(folder / "lines"), "fresh\n" + epochs(1, 4) + "joined\n" + epochs(5, 5));
  EXPECT_EQ(folder.names(), std::set<std::string>{"lines.gz"});
  EXPECT_EQ(file.said(), Strings());
}

TEST_F(CompressedEpochs, AreReplacedByEpochsThatAResumedRunRepeatsAndAreKept) {
  write_epochs(folder, 5);
  const std::string before = text_of(folder / "lines.gz");
  Numbered file(folder, true, soon());
  file.long_epoch(3);
  EXPECT_EQ(readable(folder / "lines"), "fresh\n" + epochs(1, 2) + "joined\n" + epochs(3, 3));
  EXPECT_EQ(text_of(folder / "older-1/lines.gz"), before);
  ASSERT_EQ(file.said().size(), 1u);
  EXPECT_NE(file.said()[0].find("had later epochs; it now continues from epoch 3"), std::string::npos)
      << file.said()[0];
}

TEST_F(CompressedEpochs, AreReadAndGoneOnWithAtWhateverByteTheyWereCutOff) {
  const Folder whole;
  write_epochs(whole, 6);
  const std::string bytes = text_of(whole / "lines.gz");
  const auto ends = ends_of_members(whole / "lines.gz");
  ASSERT_GT(ends.size(), 3u);
  const std::uint64_t second_last = ends[ends.size() - 3], last = ends[ends.size() - 2];
  for (std::uint64_t size = second_last; size < bytes.size(); ++size) {
    const int left = size < last ? 4 : 5;
    const bool torn = size != second_last && size != last;
    const Folder folder;
    write(folder / "lines.gz", bytes.substr(0, size));
    ASSERT_EQ(readable(folder / "lines"), "fresh\n" + epochs(1, left)) << size;
    Numbered file(folder, true, soon());
    file.long_epoch(left + 1);
    ASSERT_EQ(readable(folder / "lines"), "fresh\n" + epochs(1, left) + "joined\n" + epochs(left + 1, left + 1))
        << size;
    ASSERT_EQ(file.said().size(), torn ? 1u : 0u) << size;
    if (!torn) continue;
    ASSERT_EQ(text_of(folder / "older-1/lines.gz"), bytes.substr(0, size)) << size;
    ASSERT_NE(file.said()[0].find("had a part that was cut off or is damaged"), std::string::npos) << file.said()[0];
  }
}

TEST_F(CompressedEpochs, AreContinuedBeforeADamagedMemberAndAreKept) {
  write_epochs(folder, 6);
  std::string bytes = text_of(folder / "lines.gz");
  const auto ends = ends_of_members(folder / "lines.gz");
  bytes[ends[ends.size() - 3] + 20] ^= 0x55;  // a byte of epoch 5
  write(folder / "lines.gz", bytes);
  Numbered file(folder, true, soon());
  file.long_epoch(7);
  EXPECT_EQ(readable(folder / "lines"), "fresh\n" + epochs(1, 4) + "joined\n" + epochs(7, 7));
  EXPECT_EQ(text_of(folder / "older-1/lines.gz"), bytes);
  ASSERT_EQ(file.said().size(), 1u);
  EXPECT_NE(file.said()[0].find("had a part that was cut off or is damaged"), std::string::npos) << file.said()[0];
}

TEST_F(CompressedEpochs, ArePreferredToARemainingText) {
  write_epochs(folder, 3);
  write(folder / "lines", "fresh\n" + epochs(1, 2));  // left by a process that was killed before it removed the text
  EXPECT_EQ(readable(folder / "lines"), "fresh\n" + epochs(1, 3));
  Numbered file(folder, true, soon());
  file.long_epoch(4);
  EXPECT_EQ(readable(folder / "lines"), "fresh\n" + epochs(1, 3) + "joined\n" + epochs(4, 4));
  EXPECT_EQ(text_of(folder / "older-1/lines"), "fresh\n" + epochs(1, 2));
  EXPECT_EQ(folder.names(), (std::set<std::string>{"lines.gz", "older-1"}));
}

TEST_F(CompressedEpochs, OfAnEarlierRunAreNotInANewRunsFile) {
  write_epochs(folder, 3);
  Numbered file(folder, false, soon());
  file.epoch(1);
  EXPECT_EQ(readable(folder / "lines"), "fresh\n1 text\n");
  EXPECT_EQ(readable(folder / "older-1/lines"), "fresh\n" + epochs(1, 3));
}

TEST_F(CompressedEpochs, AreNotWrittenIfTheTextIsALink) {
  write(folder / "elsewhere", "");
  fs::create_symlink("elsewhere", folder / "lines");
  write_epochs(folder, 5);
  EXPECT_EQ(folder.names(), (std::set<std::string>{"lines", "elsewhere"}));
  EXPECT_EQ(text_of(folder / "lines"), "fresh\n" + epochs(1, 5));
}

TEST_F(CompressedEpochs, AreNotWrittenWhereTheDiskIsFullAndTheTextGoesOn) {
  Compression large = soon();
  large.member = [](std::string_view text) { return gzip_member(text) + std::string(4000, '\0'); };
  Numbered file(folder, false, large);
  {
    const FullDisk full(2000);
    for (int epoch = 1; epoch <= 5; ++epoch) file.long_epoch(epoch);
  }
  EXPECT_EQ(folder.names(), std::set<std::string>{"lines"});
  EXPECT_EQ(text_of(folder / "lines"), "fresh\n" + epochs(1, 5));
  ASSERT_EQ(file.said().size(), 1u);
  EXPECT_EQ(file.said()[0], "cannot write '" + (folder / "lines.gz").string() + "': File too large; '" +
                                (folder / "lines").string() + "' continues without compression");
}

TEST_F(CompressedEpochs, AreWrittenLaterAfterAFailureAndLeaveNoPartialMember) {
  write_epochs(folder, 3);
  Numbered file(folder, true, soon());
  const std::string before = text_of(folder / "lines.gz");
  {
    const FullDisk full(before.size() + 10);
    EXPECT_THROW(file.long_epoch(4), Error);
    EXPECT_EQ(text_of(folder / "lines.gz"), before);
  }
  file.long_epoch(5);
  EXPECT_EQ(readable(folder / "lines"), "fresh\n" + epochs(1, 3) + "joined\n" + epochs(4, 5));
}

TEST_F(CompressedEpochs, StayReadableWheneverTheProcessIsKilled) {
  std::mt19937 random(20);
  for (int kill_number = 0; kill_number < 25; ++kill_number) {
    const Folder folder;
    std::array<int, 2> written{};
    ASSERT_EQ(::pipe(written.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Numbered file(folder, false, soon());
      for (int epoch = 1;; ++epoch) {
        file.long_epoch(epoch);
        if (::write(written[1], "", 1) != 1) std::_Exit(1);
      }
    }
    ::close(written[1]);
    // Some processes are killed while they compress the text, others later.
    const int enough = static_cast<int>(random() % 6);
    int told = 0;
    for (char one = 0; told < enough && ::read(written[0], &one, 1) == 1;) ++told;
    ::usleep(random() % 2000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (char one = 0; ::read(written[0], &one, 1) == 1;) ++told;
    ::close(written[0]);

    std::string text;
    if (told > 0 || fs::exists(text_file_at(folder / "lines"))) text = readable(folder / "lines");
    const std::string least = told > 0 ? "fresh\n" + epochs(1, told) : "";
    ASSERT_EQ(text.substr(0, least.size()), least) << told;
    ASSERT_EQ(("fresh\n" + epochs(1, told + 1)).substr(0, text.size()), text) << told;
    Numbered file(folder, true, soon());
    file.long_epoch(told + 2);
    const std::string resumed = readable(folder / "lines");
    ASSERT_EQ(resumed.substr(0, least.size()), least) << told;
    ASSERT_EQ(resumed.substr(resumed.size() - epochs(told + 2, told + 2).size()), epochs(told + 2, told + 2)) << told;
  }
}

}  // namespace
}  // namespace loupe::test
