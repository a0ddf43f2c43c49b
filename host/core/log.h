#pragma once

#include <functional>
#include <string>

namespace loupe {

/// Takes one-line messages to the user. Without one they go to stderr, after "loupe: ". Any thread.
using LogSink = std::function<void(int level, const std::string& message)>;

void log(int level, const std::string& message);
/// From now on this process is one of several that train together. Rank 0 logs everything, the others only warnings and
/// errors, with their rank.
void log_as_rank(int rank);
/// While one lives, its thread logs to stderr, past the sink and its locks, which may be held for good.
class LogToStderr {
 public:
  LogToStderr();
  ~LogToStderr();
  LogToStderr(const LogToStderr&) = delete;
  LogToStderr& operator=(const LogToStderr&) = delete;

 private:
  bool before_;
};
/// Replaces the sink; an empty one restores stderr. Returns the one before.
LogSink set_log_sink(LogSink sink);

}  // namespace loupe
