#pragma once

#include <functional>
#include <string>

namespace loupe {

/// Where one-line messages to the user go; stderr with "loupe: " before them unless set otherwise. Any thread.
using LogSink = std::function<void(int level, const std::string& message)>;

void log(int level, const std::string& message);
/// From now on this process is one of several that train together. The first, of rank 0, tells what there is to know;
/// the others only warnings and errors, each with their rank.
void log_as_rank(int rank);
/// While one lives, what its thread logs goes to stderr, past the sink and its locks: somebody may hold those for good.
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
