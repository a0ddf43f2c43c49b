#include "core/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <loupe/abi.h>
#include <unistd.h>

#include <string>

#include "says.h"

namespace loupe {
namespace {

/// Replaces standard error by a full pipe that nobody reads.
class FullStandardError {
 public:
  FullStandardError() : before_(::dup(STDERR_FILENO)) {
    if (::pipe(ends_) != 0) return;
    ::fcntl(ends_[1], F_SETFL, O_NONBLOCK);
    while (::write(ends_[1], page_, sizeof page_) > 0) {
    }
    ::fcntl(ends_[1], F_SETFL, 0);
    ::dup2(ends_[1], STDERR_FILENO);
  }
  ~FullStandardError() {
    ::dup2(before_, STDERR_FILENO);
    for (const int each : {before_, ends_[0], ends_[1]}) ::close(each);
  }
  FullStandardError(const FullStandardError&) = delete;
  FullStandardError& operator=(const FullStandardError&) = delete;

  std::string read_all() const {
    std::string text;
    char part[4096];
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    for (ssize_t size = 0; (size = ::read(ends_[0], part, sizeof part)) > 0;)
      text.append(part, static_cast<std::size_t>(size));
    return text;
  }

 private:
  int before_, ends_[2] = {-1, -1};
  const char page_[4096] = {};
};

TEST(Log, WithoutAReaderDropsMessagesAndCountsThem) {
  const FullStandardError output;
  for (const char* text : {"first", "second", "third"}) log(LOUPE_LOG_INFO, text);
  EXPECT_EQ(unwritten_messages(), 3u);
  output.read_all();
  log(LOUPE_LOG_INFO, "fourth");
  const std::string text = output.read_all();
  EXPECT_SAYS(text, "loupe: 3 messages of Loupe were dropped");
  EXPECT_SAYS(text, "loupe: fourth");
  EXPECT_EQ(unwritten_messages(), 0u);
}

}  // namespace
}  // namespace loupe
