#include "core/log.h"

#include <loupe/abi.h>

#include <iostream>
#include <mutex>
#include <utility>

namespace loupe {
namespace {

std::mutex& mutex() {
  static std::mutex instance;
  return instance;
}
LogSink& current() {
  static LogSink sink;
  return sink;
}

}  // namespace

void log(int level, const std::string& message) {
  const std::lock_guard lock(mutex());
  if (current()) {
    current()(level, message);
    return;
  }
  std::cerr << "loupe: "
            << (level == LOUPE_LOG_ERROR     ? "error: "
                : level == LOUPE_LOG_WARNING ? "warning: "
                                             : "")
            << message << std::endl;
}

LogSink set_log_sink(LogSink sink) {
  const std::lock_guard lock(mutex());
  return std::exchange(current(), std::move(sink));
}

}  // namespace loupe
