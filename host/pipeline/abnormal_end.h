#ifndef LOUPE_PIPELINE_ABNORMAL_END_H
#define LOUPE_PIPELINE_ABNORMAL_END_H

#include <functional>
#include <string>

namespace loupe {

/// While one of these lives, an end by std::terminate or SIGTERM is told before the process is gone. Handlers that were
/// there before are called as ever, and are put back with the last of these.
class AbnormalEnd {
 public:
  /// @param how  "terminate" or "SIGTERM"  @param why  what the exception says; may be empty
  using Tell = std::function<void(const std::string& how, const std::string& why)>;

  /// `tell` is called where locks may be held by threads that never go on: it must wait for none. It throws nothing.
  explicit AbnormalEnd(Tell tell);
  ~AbnormalEnd();
  AbnormalEnd(const AbnormalEnd&) = delete;
  AbnormalEnd& operator=(const AbnormalEnd&) = delete;

  /// At the signal itself hardly anything is safe, so that it waits for this call: tells all who want to know, and then
  /// lets the process end unless a handler of the program's own decides. Nothing without a signal. Any thread.
  static void act_on_signal();
  /// Whether SIGTERM came and nobody acted on it yet. Any thread.
  static bool signal_came();

 private:
  Tell tell_;
};

}  // namespace loupe

#endif
