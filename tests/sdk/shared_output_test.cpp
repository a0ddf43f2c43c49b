#include <loupe/files/shared_output.h>

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/stat.h>

#include <string>
#include <utility>

#include "folder.h"

namespace loupe::test {
namespace {

struct Ends {
  int reader, writer;
};
Ends pipe_ends() {
  int ends[2];
  return ::pipe(ends) == 0 ? Ends{ends[0], ends[1]} : Ends{-1, -1};
}
Ends socket_ends() {
  int ends[2];
  return ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 ? Ends{ends[0], ends[1]} : Ends{-1, -1};
}
Ends terminal_ends() {
  Ends ends{-1, -1};
  static_cast<void>(!::openpty(&ends.reader, &ends.writer, nullptr, nullptr, nullptr));
  return ends;
}

class SharedOutput : public testing::TestWithParam<std::pair<const char*, Ends (*)()>> {
 protected:
  SharedOutput() : ends_(GetParam().second()) {}
  ~SharedOutput() override {
    ::close(ends_.reader);
    ::close(ends_.writer);
  }
  Ends ends_;
};

TEST_P(SharedOutput, WithoutAReaderTakesWhatFitsAndDoesNotWait) {
  const std::string text(1 << 20, 'x');
  const std::size_t written = write_shared(ends_.writer, text.data(), text.size(), 0);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_GT(written, 0u);
  EXPECT_LT(written, text.size());
  // The system passes a terminal's text to its reader after a while, which frees some space, but not without limit.
  std::size_t more = 0;
  while (more < text.size()) {
    const std::size_t taken = write_shared(ends_.writer, "more", 4, 0);
    if (taken == 0) break;
    more += taken;
  }
  EXPECT_LT(more, text.size());
  EXPECT_EQ(::fcntl(ends_.writer, F_GETFL) & O_NONBLOCK, 0) << "the program's own writes must block as before";
}

TEST_P(SharedOutput, ContinuesWhenAReaderReads) {
  const std::string text(1 << 20, 'x');
  write_shared(ends_.writer, text.data(), text.size(), 0);
  std::string taken(1 << 16, '\0');
  ::fcntl(ends_.reader, F_SETFL, O_NONBLOCK);
  while (::read(ends_.reader, taken.data(), taken.size()) > 0) {
  }
  EXPECT_EQ(write_shared(ends_.writer, "more", 4, 0), 4u);
  EXPECT_EQ(::read(ends_.reader, taken.data(), taken.size()), 4);
  EXPECT_EQ(taken.substr(0, 4), "more");
}

INSTANTIATE_TEST_SUITE_P(Of, SharedOutput,
                         testing::Values(std::pair("Pipe", &pipe_ends), std::pair("Socket", &socket_ends),
                                         std::pair("Terminal", &terminal_ends)),
                         [](const auto& each) { return each.param.first; });

TEST(SharedOutputFile, IsWrittenAtTheProgramsPosition) {
  const Folder folder;
  const int file = ::open((folder / "log").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::write(file, "the program's ", 14), 14);
  EXPECT_EQ(write_shared(file, "ours ", 5), 5u);
  ASSERT_EQ(::write(file, "and again", 9), 9);
  ::close(file);
  EXPECT_EQ(text_of(folder / "log"), "the program's ours and again");
}

TEST(SharedOutputFile, OfAClosedReaderFailsWithoutASignal) {
  const Ends ends = pipe_ends();
  ::close(ends.reader);
  EXPECT_EQ(write_shared(ends.writer, "text", 4), 0u);
  EXPECT_EQ(errno, EPIPE);
  ::close(ends.writer);
}

}  // namespace
}  // namespace loupe::test
