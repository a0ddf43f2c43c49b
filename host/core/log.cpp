#include "core/log.h"

#include <loupe/abi.h>
#include <loupe/utf8.h>

#include <iostream>
#include <memory>
#include <mutex>
#include <utility>

namespace loupe {
namespace {

std::mutex& mutex() {
  static std::mutex instance;
  return instance;
}
/// Held while a message is on its way: one at a time, but the sink may have something to say itself.
std::recursive_mutex& speaking() {
  static std::recursive_mutex instance;
  return instance;
}
std::shared_ptr<const LogSink>& current() {
  static std::shared_ptr<const LogSink> sink;
  return sink;
}

void print(int level, const std::string& message) {
  std::cerr << "loupe: "
            << (level == LOUPE_LOG_ERROR     ? "error: "
                : level == LOUPE_LOG_WARNING ? "warning: "
                                             : "")
            << printable(message) << std::endl;
}

}  // namespace

void log(int level, const std::string& message) {
  const std::lock_guard one_at_a_time(speaking());
  std::shared_ptr<const LogSink> sink;
  {
    const std::lock_guard lock(mutex());
    sink = current();
  }
  if (sink == nullptr || !*sink) return print(level, message);
  try {
    (*sink)(level, message);
  } catch (...) {
    print(level, message);
  }
}

LogSink set_log_sink(LogSink sink) {
  auto next = std::make_shared<const LogSink>(std::move(sink));
  const std::lock_guard lock(mutex());
  const auto before = std::exchange(current(), std::move(next));
  return before == nullptr ? LogSink() : *before;
}

}  // namespace loupe
