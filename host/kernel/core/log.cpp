#include "core/log.h"

#include <loupe/abi.h>
#include <loupe/files/shared_output.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "core/forks.h"
#include "core/text.h"

namespace loupe {
namespace {

ProcessMutex& sink_mutex() {
  static auto* const instance = new ProcessMutex();
  return *instance;
}
/// Held while a message is logged: one at a time, but the sink may log messages itself. A forked child begins with a
/// free one, because the sink may have been running on another thread.
std::recursive_mutex& speaking() {
  static std::recursive_mutex* const instance = [] {
    at_fork([] { new (instance) std::recursive_mutex(); });
    return new std::recursive_mutex();
  }();
  return *instance;
}
std::shared_ptr<const LogSink>& current() {
  static auto& sink = *new std::shared_ptr<const LogSink>();
  return sink;
}

thread_local bool prints_only = false;
std::atomic<int> rank{0};
std::atomic<uint64_t> unwritten{0};

/// On a terminal a long message is wrapped between words, as the terminal itself breaks words. This does not use
/// std::cerr, because a failure would set the error flag of the program's stream.
void print(int level, const std::string& message) {
  const char* const severity = level == LOUPE_LOG_ERROR ? "error: " : level == LOUPE_LOG_WARNING ? "warning: " : "";
  const std::string line = std::string("loupe: ") + severity + printable(message);
  const auto columns = terminal_columns(STDERR_FILENO);
  std::string text = (columns ? wrapped_line(line, *columns) : line) + '\n';
  // Only the first message waits for a reader.
  const uint64_t missing = unwritten;
  if (missing > 0) text.insert(0, "\nloupe: " + unwritten_words(missing) + '\n');
  if (write_shared(STDERR_FILENO, text.data(), text.size(), missing > 0 ? 0 : output_patience_ms) == text.size()) {
    unwritten -= missing;
  } else if (errno == EAGAIN) {
    ++unwritten;
  }
}

}  // namespace

uint64_t unwritten_messages() {
  return unwritten;
}

std::string unwritten_words(uint64_t count) {
  return std::to_string(count) + (count == 1 ? " message of Loupe was" : " messages of Loupe were") +
         " dropped, because nobody read standard error";
}

void log_as_rank(int number) {
  rank = number;
}

void log(int level, const std::string& text) {
  const int own = rank;
  if (own > 0 && level == LOUPE_LOG_INFO) return;
  const std::string message = own > 0 ? "rank " + std::to_string(own) + ": " + text : text;
  if (prints_only) return print(level, message);
  const std::lock_guard one_at_a_time(speaking());
  std::shared_ptr<const LogSink> sink;
  {
    const std::lock_guard lock(sink_mutex());
    sink = current();
  }
  if (sink == nullptr || !*sink) return print(level, message);
  try {
    (*sink)(level, message);
  } catch (...) {
    print(level, message);
  }
}

LogToStderr::LogToStderr() : before_(std::exchange(prints_only, true)) {}
LogToStderr::~LogToStderr() {
  prints_only = before_;
}

LogSink set_log_sink(LogSink sink) {
  auto next = std::make_shared<const LogSink>(std::move(sink));
  const std::lock_guard lock(sink_mutex());
  const auto before = std::exchange(current(), std::move(next));
  return before == nullptr ? LogSink() : *before;
}

}  // namespace loupe
