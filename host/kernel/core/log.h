#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/shared.h"

namespace loupe {

/// Takes one-line messages to the user. Without one they go to stderr, after "loupe: "; if nobody reads it for a few
/// seconds, messages are dropped and counted until somebody does. Any thread.
using LogSink = std::function<void(int level, const std::string& message)>;

LOUPE_SHARED void log(int level, const std::string& message);
/// The number of messages that were dropped and are not yet reported on stderr, and the sentence for it.
uint64_t unwritten_messages();
std::string unwritten_words(uint64_t count);
/// From now on this process is one of several that train together. Rank 0 logs everything, the others only warnings and
/// errors, with their rank.
void log_as_rank(int rank);
/// While one lives, its thread logs to stderr and bypasses the sink and its locks, which may never be released.
class LogToStderr {
 public:
  LogToStderr();
  ~LogToStderr();
  LogToStderr(const LogToStderr&) = delete;
  LogToStderr& operator=(const LogToStderr&) = delete;

 private:
  bool before_;
};
/// Replaces the sink; an empty one restores stderr. Returns the previous one.
LogSink set_log_sink(LogSink sink);

}  // namespace loupe
