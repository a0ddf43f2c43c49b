#pragma once

#include "loupe/loop_scope.h"
#include "loupe/version.h"

namespace loupe {

class Inspector;

/// What Inspector::epochs returns: `for (int epoch : inspector.epochs(20))` counts and ticks after each
/// turn that did not tick itself. Ends early where a finding says so; see Inspector::should_stop.
class LOUPE_API Epochs {
 public:
  struct Sentinel {};
  class Iterator {
   public:
    Iterator(Inspector* inspector, int epoch, int last) : inspector_(inspector), epoch_(epoch), last_(last) {}
    int operator*() const { return epoch_; }
    LOUPE_API Iterator& operator++();
    bool operator!=(Sentinel) const { return epoch_ <= last_; }

   private:
    Inspector* inspector_;
    int epoch_;
    int last_;
  };

  Epochs(Inspector* inspector, int first, int last)
      : scope_(inspector, host_detail::LoopScope::Of::epochs), inspector_(inspector), first_(first), last_(last) {}
  Iterator begin() const { return {inspector_, first_, last_}; }
  Sentinel end() const { return {}; }

 private:
  host_detail::LoopScope scope_;
  Inspector* inspector_;
  int first_;
  int last_;
};

}  // namespace loupe
