#pragma once

#include <utility>

namespace loupe {

/// Notes which component runs on this thread, so that a crash can be told with its name. Nests. Costs two stores.
class RunningComponent {
 public:
  /// @param speaker  "the lens 'x'"; must outlive this
  explicit RunningComponent(const char* speaker) : before_(std::exchange(current_, speaker)) {}
  ~RunningComponent() { current_ = before_; }
  RunningComponent(const RunningComponent&) = delete;
  RunningComponent& operator=(const RunningComponent&) = delete;

  /// Null while none runs. Safe in a signal handler.
  static const char* current() { return current_; }
  /// This thread, on which no component runs, is `speaker`'s own, as long as it lives.
  static void claim_thread(const char* speaker) {
    if (current_ == nullptr) current_ = speaker;
  }

 private:
  static thread_local constinit const char* current_;
  const char* before_;
};

/// From now on a fatal signal appends the last words of runs to their records and, while a component runs, writes one
/// line to stderr that names it; then it takes the course that it would have taken, by handlers that were there before.
/// Signals that are ignored are left alone. The process's; any thread.
void name_components_in_crashes();

/// A visualizer shows progress, which a console does in the last rows of a terminal: a fatal signal gives those back.
/// The process's; any thread.
void note_shown_progress();

}  // namespace loupe
