#pragma once

#include <utility>

namespace loupe {

/// Records which component runs on this thread, so that a crash can be reported with its name. Nests. Costs two stores.
class RunningComponent {
 public:
  /// @param speaker  "the lens 'x'"; must outlive this
  explicit RunningComponent(const char* speaker) : before_(std::exchange(current_, speaker)) {}
  ~RunningComponent() { current_ = before_; }
  RunningComponent(const RunningComponent&) = delete;
  RunningComponent& operator=(const RunningComponent&) = delete;

  /// Null if none runs. Safe in a signal handler.
  static const char* current() { return current_; }
  /// If no component runs on this thread, marks it as `speaker`'s for the rest of its life.
  static void claim_thread(const char* speaker) {
    if (current_ == nullptr) current_ = speaker;
  }

 private:
  static thread_local constinit const char* current_;
  const char* before_;
};

/// From now on a fatal signal makes plugins speak their last words (LastWords) and, while a component runs, writes one
/// line to stderr that names it; then earlier handlers run, or the default action. Ignored signals stay ignored.
/// Process-wide; any thread.
void name_components_in_crashes();

}  // namespace loupe
