#pragma once

#include <atomic>
#include <string>
#include <thread>

namespace loupe {

/// Whether LOUPE_CHECK=strict is set as the process starts: then every call over the boundary is held to its contract's
/// thread and state, in both directions.
extern const bool is_strict;

/// Whether an author's mistakes are refused that are let pass in training, such as a value of a tag that was not told:
/// in strict mode, and once refuse_mistakes() was called, as where plugins are tested.
bool refuses_mistakes();
void refuse_mistakes();

/// Tells of a broken contract. One that the host broke ends the process, since nothing it says can be believed.
[[noreturn]] void break_contract(const std::string& what);

/// Whether a call may come, on the same thread, before another has returned: its contract's @reenter.
enum class Reentry { none, allowed };

/// Of all calls through one of these, never two at once on different threads, and on one thread only those that may
/// re-enter. In strict mode only: otherwise it costs a branch.
class Exclusive {
 public:
  class Call {
   public:
    /// @param function  and @param speaker  name the call in the message: "process of the lens 'x'"
    Call(Exclusive& calls, const char* function, const char* speaker, Reentry reentry = Reentry::none)
        : calls_(is_strict ? &calls : nullptr) {
      if (calls_ != nullptr) calls_->enter(function, speaker, reentry);
    }
    ~Call() {
      if (calls_ != nullptr) calls_->leave();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Exclusive* calls_;
  };

 private:
  void enter(const char* function, const char* speaker, Reentry reentry);
  void leave();

  std::atomic<std::thread::id> inside_{};
  int depth_ = 0;  // of the thread inside
};

}  // namespace loupe
