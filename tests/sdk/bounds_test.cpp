// Files and variables may have any content: no read waits forever, and none takes unlimited memory.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <loupe/files/gzip.h>
#include <loupe/files/readable.h>
#include <loupe/files/replacement.h>
#include <loupe/text/environment.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "folder.h"
#include "numbered.h"

namespace loupe::test {
namespace {

TEST(ReadLine, ReadsWhatGetlineReads) {
  const std::string longer(4095, 'x'), full(4096, 'y');
  for (const std::string& text : {std::string(), std::string("\n"), std::string("one\ntwo"), std::string("a\0b\n\n", 5),
                                  longer, longer + "\n", full + "\n" + longer + longer, full + full + "\nend\n"}) {
    std::istringstream one(text), other(text);
    for (std::string expected, line;;) {
      const bool is_there = static_cast<bool>(std::getline(one, expected));
      ASSERT_EQ(read_line(other, line), is_there) << text.size();
      if (!is_there) break;
      EXPECT_EQ(line, expected);
      EXPECT_EQ(other.eof(), one.eof());
    }
  }
}

TEST(ReadLine, StopsAtTheLongestLine) {
  std::istringstream input(std::string(longest_line + (std::size_t{1} << 20), 'x') + "\nnext\n");
  std::string line;
  EXPECT_FALSE(read_line(input, line));
  EXPECT_TRUE(is_too_long(line));
  EXPECT_LT(line.size(), longest_line + 8192);
  EXPECT_FALSE(read_line(input, line)) << "the rest of a line that is too long is not read";
}

TEST(Readable, IsAFileButNoNamedPipe) {
  const Folder folder;
  write(folder / "file", "text");
  EXPECT_EQ(read_file(folder / "file", 4), "text");
  EXPECT_THROW(read_file(folder / "file", 3), Error);
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(read_file(folder / "pipe", 4), Error);
  EXPECT_THROW(TextPieces(folder / "pipe"), Error);
  EXPECT_THROW(read_file(folder / ".", 4), Error);
  EXPECT_THROW(read_file(folder / "missing", 4), std::system_error);
}

TEST(Readable, IsAPipeThatTheProgramInherits) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "from a pipe\n", 12), 12);
  ::close(ends[1]);
  TextInput input("/dev/fd/" + std::to_string(ends[0]));
  std::string line;
  EXPECT_TRUE(read_line(input, line));
  EXPECT_EQ(line, "from a pipe");
  ::close(ends[0]);
}

TEST(Gzip, OfAMegabyteThatIsAGigabyteOfTextIsNotReadWhole) {
  const Folder folder;
  const std::string first = gzip_member("one\n");
  write(folder / "text.gz", first + gzip_member(std::string(std::size_t{129} << 20, ' ')) + gzip_member("three\n"));
  TextPieces pieces(folder / "text.gz");
  EXPECT_EQ(pieces.next(), "one\n");
  try {
    ADD_FAILURE() << pieces.next().size();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).rfind("after byte " + std::to_string(first.size()), 0), 0u) << error.what();
  }
}

TEST(Gzip, IsWrittenInReadableMembers) {
  const std::string text(std::size_t{130} << 20, ' ');
  std::vector<std::string> members;
  gzip().write_members(text, [&](const std::string& member) { members.push_back(member); });
  EXPECT_EQ(members.size(), 3u);
  const Folder folder;
  write(folder / "text.gz", members[0] + members[1] + members[2]);
  std::size_t size = 0;
  TextPieces pieces(folder / "text.gz");
  for (std::size_t piece; (piece = pieces.next().size()) > 0;) size += piece;
  EXPECT_EQ(size, text.size());
}

TEST(NewFile, ThatAKilledProcessLeftGoesAndThatOfALivingOneStays) {
  const Folder folder;
  const auto names = [&] { return folder.names(); };
  const std::set<std::string> others = {".7.tmp", ".lines.tmp", ".lines.12a.tmp", "lines.1.tmp", ".linesx.1.tmp"};
  for (const std::string& name : others) write(folder / name.c_str(), "");
  write(folder / ".lines.123.tmp", "half a fi");
  NewFile living(folder / "lines", folder / "lines");
  living.write("text");
  NewFile::remove_left_behind((folder / "lines").parent_path(), "lines");
  EXPECT_EQ(names().count(".lines.123.tmp"), 0u);
  EXPECT_EQ(names().size(), others.size() + 1);
  NewFile::remove_left_behind((folder / "lines").parent_path());
  EXPECT_EQ(names().count(".linesx.1.tmp"), 0u) << "without a name, it removes leftovers of any file";
  EXPECT_EQ(names().size(), others.size());
  living.take_the_place(false);
  EXPECT_EQ(text_of(folder / "lines"), "text");
}

TEST(NewFile, IsNotRemovedByAThreadThatCleansUpWhileItIsCreated) {
  const Folder folder;
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) NewFile::remove_left_behind((folder / "lines").parent_path());
  });
  for (int i = 0; i < 2000; ++i) {
    NewFile file(folder / "lines", folder / "lines");
    EXPECT_NO_THROW(file.take_the_place(false)) << i;
  }
  is_over = true;
  other.join();
}

TEST(EpochFile, TakesAwayWhatAKilledProcessLeftOfAConversion) {
  const Folder folder;
  {
    Numbered file(folder, false);
    file.epoch(1);
  }
  write(folder / ".lines.gz.17.tmp", "half a file");
  write(folder / ".lines.18.tmp", "half a file");
  Numbered file(folder, true);
  file.epoch(2);
  EXPECT_EQ(folder.names(), std::set<std::string>{"lines"});
}

TEST(NumberInEnvironment, IsOneWithinTheBounds) {
  const auto number = [](const char* text) {
    ::setenv("LOUPE_TEST_NUMBER", text, 1);
    return number_in_environment("LOUPE_TEST_NUMBER", 1, 1000);
  };
  EXPECT_EQ(number("1"), 1);
  EXPECT_EQ(number("1000"), 1000);
  for (const char* text : {"", "0", "-1", "1001", "2000000000", "99999999999999999999", "80x", " 80", "1e2"})
    EXPECT_EQ(number(text), std::nullopt) << text;
  ::unsetenv("LOUPE_TEST_NUMBER");
  EXPECT_EQ(number_in_environment("LOUPE_TEST_NUMBER", 1, 1000), std::nullopt);
}

}  // namespace
}  // namespace loupe::test
