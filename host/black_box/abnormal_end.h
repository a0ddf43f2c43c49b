#pragma once

#include <functional>
#include <string>

namespace loupe {

/// How a process ends, or would if a handler of the program's own did not decide.
struct ProcessEnd {
  std::string how;  ///< "terminate", "SIGTERM", "SIGINT" or "exit"
  std::string why;  ///< what the exception says; may be empty
  bool is_final;    ///< nothing of the program's own decides otherwise
};

/// While one of these lives, its function is called before the process ends by std::terminate, SIGTERM, SIGINT or
/// exit(). Earlier handlers are still called, and are restored when the last of these is destroyed.
class AbnormalEnd {
 public:
  using Tell = std::function<void(const ProcessEnd&)>;

  /// `tell` is called on the thread that acts on a signal; for the other ends on a thread of its own, for which the end
  /// of the process waits a few seconds at most, since locks may be held for good. What it logs then goes to stderr
  /// only.
  explicit AbnormalEnd(Tell tell);
  ~AbnormalEnd();
  AbnormalEnd(const AbnormalEnd&) = delete;
  AbnormalEnd& operator=(const AbnormalEnd&) = delete;

  /// From now on `tell` runs at exit() before the static objects that exist by now are destroyed.
  static void come_before_statics();
  /// Acts on a signal that came, since hardly anything is safe in its handler: calls every `tell`, and then lets the
  /// process end unless a handler of the program's own decides. Does nothing without a signal. Any thread.
  static void act_on_signal();
  /// Whether a signal came and nobody acted on it yet. Any thread.
  static bool signal_came();

 private:
  Tell tell_;
};

}  // namespace loupe
