#pragma once

#include <functional>
#include <string>

#include "loupe/version.h"

namespace loupe {

enum class LogLevel { info = 0, warning = 1, error = 2 };

/// Takes one message to the user, a line without its end.
using LogCallback = std::function<void(LogLevel level, const std::string& message)>;

/// Sets where the messages of all inspectors of the process go; without a callback, or after an empty one, stderr.
/// Messages come from any thread, one at a time; the callback may throw (the message then goes to stderr) and may call
/// this. It must not call an inspector, nor wait for what is held while one is called: visualizers log, too, on their
/// own thread. Any thread.
LOUPE_API void set_log(LogCallback callback);

}  // namespace loupe
