#pragma once

#include <loupe/abi.h>

#include <cstdint>

#include "config/sections.h"
#include "core/clock.h"

namespace loupe {

/// When ticks come by themselves, as `run.tick` says. Calls come one at a time.
class TickClock {
 public:
  explicit TickClock(const TickRule& rule) : rule_(rule) {}

  bool is_automatic() const { return rule_.is_automatic(); }
  bool counts_time() const { return rule_.by == TickRule::By::seconds; }
  /// The reason LOUPE_TICK_ for which a tick is due by now; 0 where none is.
  uint32_t due(uint64_t step) const {
    if (rule_.by == TickRule::By::steps && step - ticked_step_ >= rule_.steps) return LOUPE_TICK_STEPS;
    if (counts_time() && steady_time() - ticked_time_ >= rule_.seconds) return LOUPE_TICK_SECONDS;
    return 0;
  }
  /// A tick has come at this step, by itself or not.
  void ticked(uint64_t step) {
    ticked_step_ = step;
    ticked_time_ = steady_time();
  }
  bool has_steps_since_tick(uint64_t step) const { return step != ticked_step_; }
  /// The run goes on after so many steps. Returns how many ticks came in them.
  uint64_t begin_after(uint64_t steps) {
    ticked_step_ = steps;
    return rule_.by == TickRule::By::steps ? steps / rule_.steps : 0;
  }

 private:
  const TickRule& rule_;  // the configuration's
  uint64_t ticked_step_ = 0;
  double ticked_time_ = steady_time();
};

}  // namespace loupe
