#pragma once

#include <cstdint>

#include "loupe/loop_scope.h"
#include "loupe/version.h"

namespace loupe {

class Inspector;

/// What Inspector::steps returns: `for (auto step : inspector.steps(10000))` counts the turns of a loop without epochs,
/// in which ticks come by themselves, as `run.tick` says. Ends early where a finding says so; see
/// Inspector::should_stop.
class LOUPE_API Steps {
 public:
  struct Sentinel {};
  class Iterator {
   public:
    Iterator(Inspector* inspector, std::int64_t step, std::int64_t last)
        : inspector_(inspector), step_(step), last_(last) {}
    std::int64_t operator*() const { return step_; }
    LOUPE_API Iterator& operator++();
    bool operator!=(Sentinel) const { return step_ <= last_; }

   private:
    Inspector* inspector_;
    std::int64_t step_;
    std::int64_t last_;
  };

  Steps(Inspector* inspector, std::int64_t first, std::int64_t last)
      : scope_(inspector, host_detail::LoopScope::Of::steps), inspector_(inspector), first_(first), last_(last) {}
  Iterator begin() const { return {inspector_, first_, last_}; }
  Sentinel end() const { return {}; }

 private:
  host_detail::LoopScope scope_;
  Inspector* inspector_;
  std::int64_t first_;
  std::int64_t last_;
};

}  // namespace loupe
