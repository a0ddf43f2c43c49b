// Compressed text files, read in pieces and as a stream.

#include <gtest/gtest.h>
#include <loupe/files/gzip.h>

#include "folder.h"

namespace loupe::test {
namespace {

namespace fs = std::filesystem;

void append(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::app) << text;
}

std::string rest_of(TextPieces& pieces) {
  std::string text;
  for (;;) {
    const std::string& piece = pieces.next();
    if (piece.empty()) return text;
    text += piece;
  }
}
std::string text_in(const fs::path& file) {
  TextPieces pieces(file);
  return rest_of(pieces);
}

/// Lines that stay long when compressed.
std::string many_lines(std::size_t bytes) {
  std::string text;
  for (unsigned number = 1; text.size() < bytes; ++number) text += std::to_string(number * 2654435761U) + "\n";
  return text;
}

TEST(Gzip, ReadsBackCompressedTextOfAnySize) {
  const Folder folder;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{3} << 20}) {
    const std::string text = many_lines(size);
    write(folder / "text.gz", gzip_member(text));
    EXPECT_EQ(text_in(folder / "text.gz"), text);
  }
  EXPECT_LT(gzip_member(std::string(1 << 20, 'a')).size(), std::size_t{1} << 14);
}

TEST(Gzip, IsReadByOtherPrograms) {
  const Folder folder;
  write(folder / "text.gz", gzip_member("one\n") + gzip_member("") + gzip_member("two\n"));
  const std::string command = "zcat '" + (folder / "text.gz").string() + "' > '" + (folder / "text").string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(text_of(folder / "text"), "one\ntwo\n");
  write(folder / "plain", many_lines(100000));
  ASSERT_EQ(std::system(("gzip -k '" + (folder / "plain").string() + "'").c_str()), 0);
  EXPECT_EQ(text_in(folder / "plain.gz"), many_lines(100000));
}

TEST(Gzip, ReadsAnUncompressedTextUnchanged) {
  const Folder folder;
  write(folder / "text", many_lines(1000000));
  EXPECT_EQ(text_in(folder / "text"), many_lines(1000000));
}

TEST(Gzip, ReadsTheCompressedFileInPlaceOfTheNameThatItHadBefore) {
  const Folder folder;
  write(folder / "text", "old\n");
  EXPECT_EQ(text_in(folder / "text"), "old\n");
  write(folder / "text.gz", gzip_member("new\n"));
  EXPECT_EQ(text_in(folder / "text"), "new\n");
  fs::remove(folder / "text");
  EXPECT_EQ(text_in(folder / "text"), "new\n");
  EXPECT_THROW(text_in(folder / "other"), std::system_error);
}

TEST(Gzip, LeavesAnIncompleteLastMemberForLater) {
  const Folder folder;
  const std::string first = gzip_member("one\n"), second = gzip_member("two\n");
  for (std::size_t size = 1; size < second.size(); ++size) {
    write(folder / "text.gz", first + second.substr(0, size));
    TextPieces pieces(folder / "text.gz");
    EXPECT_EQ(rest_of(pieces), "one\n") << size;
    EXPECT_TRUE(pieces.is_cut_off()) << size;
    append(folder / "text.gz", second.substr(size));
    EXPECT_EQ(rest_of(pieces), "two\n") << size;
    EXPECT_FALSE(pieces.is_cut_off()) << size;
  }
}

TEST(Gzip, ContinuesAtAPlaceOnlyIfTheTextBeforeItIsTheSame) {
  const Folder folder;
  for (const char* name : {"text", "text.gz"}) {
    const auto stored = [&](const std::string& text) { return name == std::string("text") ? text : gzip_member(text); };
    write(folder / name, stored("one\n"));
    TextPieces::Place place;
    {
      TextPieces pieces(folder / name);
      EXPECT_EQ(rest_of(pieces), "one\n");
      place = pieces.place();
    }
    append(folder / name, stored("two\n"));
    TextPieces grown(folder / name);
    EXPECT_TRUE(grown.go_on(place));
    EXPECT_EQ(rest_of(grown), "two\n");
    for (const char* other : {"", "o", "ten\nand more than there was\n"}) {
      write(folder / name, stored(other));
      TextPieces pieces(folder / name);
      EXPECT_FALSE(pieces.go_on(place)) << other;
      EXPECT_EQ(rest_of(pieces), other);
    }
    fs::remove(folder / name);
  }
}

TEST(Gzip, SaysThatTheFileIsDamagedWhateverByteOfAMemberIsWrong) {
  const Folder folder;
  const std::string first = gzip_member("one\n"), second = gzip_member(many_lines(200)), third = gzip_member("three\n");
  // These bytes of a member's header do not affect its text: time, compression level and system.
  const auto says_nothing = [](std::size_t i) { return i >= 4 && i <= 9; };
  for (std::size_t i = 0; i < second.size(); ++i) {
    if (says_nothing(i)) continue;
    std::string damaged = second;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    write(folder / "text.gz", first + damaged + third);
    TextPieces pieces(folder / "text.gz");
    EXPECT_EQ(pieces.next(), "one\n") << i;
    try {
      ADD_FAILURE() << i << ": " << pieces.next();
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "the compressed data is damaged after byte " + std::to_string(first.size()) +
                                               " of the file, and the rest is lost")
          << i;
    }
  }
}

TEST(Gzip, AsAStreamIsBadAfterTheReadablePart) {
  const Folder folder;
  const std::string whole = gzip_member("one\n") + gzip_member("two\n");
  const auto lines = [&](const std::string& stored, bool cut_off, const std::string& fault) {
    write(folder / "text.gz", stored);
    TextInput input(folder / "text.gz");
    std::string all;
    for (std::string line; std::getline(input, line);) all += line + "|";
    EXPECT_EQ(input.bad(), !fault.empty());
    EXPECT_EQ(input.is_cut_off(), cut_off);
    EXPECT_EQ(input.fault().substr(0, fault.size()), fault);
    return all;
  };
  EXPECT_EQ(lines(whole, false, ""), "one|two|");
  EXPECT_EQ(lines(whole.substr(0, whole.size() - 1), true, "the file ends within a gzip member"), "one|");
  EXPECT_EQ(lines(whole + "garbage", false, "the compressed data is damaged after byte"), "one|two|");
}

}  // namespace
}  // namespace loupe::test
