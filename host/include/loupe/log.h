#pragma once

#include <functional>
#include <string>

#include "loupe/version.h"

namespace loupe {

enum class LogLevel { info = 0, warning = 1, error = 2 };

/// Receives one message to the user, a line without its newline.
using LogCallback = std::function<void(LogLevel level, const std::string& message)>;

/// Sets the receiver of the messages of all inspectors of the process; without one, or if it is empty, they go to
/// stderr. Messages come from any thread, one at a time; the callback may throw (the message then goes to stderr) and
/// may call this. It must not call an inspector, nor wait for a lock held during such a call: visualizers also log, on
/// their own thread. Any thread.
LOUPE_API void set_log(LogCallback callback);

}  // namespace loupe
