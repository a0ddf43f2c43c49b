#pragma once

#include <functional>
#include <string>

namespace loupe {

/// How a process ends, unless a handler of the program decides otherwise.
struct ProcessEnd {
  std::string how;  ///< "terminate", "SIGTERM", "SIGINT" or "exit"
  std::string why;  ///< the exception's message; may be empty
  bool is_final;    ///< no handler of the program decides otherwise
};

/// While one of these lives, its function is called before the process ends by std::terminate, SIGTERM, SIGINT or
/// exit(). Earlier handlers are still called, and are restored when the last of these is destroyed.
class AbnormalEnd {
 public:
  using Tell = std::function<void(const ProcessEnd&)>;

  /// `tell` is called on the thread that acts on a signal at its step; for other ends, and if no step comes within two
  /// seconds, on its own thread, for which the process waits at most a few seconds, since locks may never be released.
  /// There it logs only to stderr.
  explicit AbnormalEnd(Tell tell);
  ~AbnormalEnd();
  AbnormalEnd(const AbnormalEnd&) = delete;
  AbnormalEnd& operator=(const AbnormalEnd&) = delete;

  /// From now on `tell` runs at exit() before the existing static objects are destroyed.
  static void come_before_statics();
  /// Acts on a signal that came, since hardly anything is safe in its handler: calls every `tell`, and then ends the
  /// process unless a handler of the program decides otherwise. Does nothing without a signal. Any thread.
  static void act_on_signal();

 private:
  Tell tell_;
};

}  // namespace loupe
