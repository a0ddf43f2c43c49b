#ifndef LOUPE_CORE_LOG_H
#define LOUPE_CORE_LOG_H

#include <functional>
#include <string>

namespace loupe {

/// Where one-line messages to the user go; stderr with "loupe: " before them unless set otherwise. Any thread.
using LogSink = std::function<void(int level, const std::string& message)>;

void log(int level, const std::string& message);
/// Replaces the sink; an empty one restores stderr. Returns the one before.
LogSink set_log_sink(LogSink sink);

}  // namespace loupe

#endif
