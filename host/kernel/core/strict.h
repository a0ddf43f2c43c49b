#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "core/shared.h"

namespace loupe {

/// Whether LOUPE_CHECK=strict is set as the process starts. Every call over the boundary is then checked against its
/// contract's thread and state, in both directions.
LOUPE_SHARED extern const bool is_strict;

/// Whether mistakes of authors that training tolerates are errors, such as a value of an undeclared tag: in strict
/// mode, and after refuse_mistakes(), as in tests of plugins.
bool refuses_mistakes();
void refuse_mistakes();

/// Reports that the host broke a contract and ends the process, since its results can no longer be trusted.
[[noreturn]] void break_contract(const std::string& what);

/// Whether a call may come on the same thread before another has returned: its contract's @reenter.
enum class Reentry { none, allowed };

/// Checks, in strict mode, that calls never overlap on different threads, and that only calls that may re-enter do so
/// on one thread. Otherwise it costs a branch.
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
  int depth_ = 0;  // nested calls of that thread
};

}  // namespace loupe
