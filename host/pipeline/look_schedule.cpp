#include "pipeline/look_schedule.h"

#include <loupe/text/number_text.h>

#include <utility>

#include "core/clock.h"

namespace loupe {

LookSchedule::LookSchedule(int64_t active, uint64_t every, double budget)
    : active_when_([active](int64_t tick) { return tick % active == 0; }),
      sampling_(every),
      share_(budget),
      step_start_(steady_time()) {
  if (budget <= 0) return;
  budget_.emplace(budget, every);
  sampling_.set_every(budget_->every());
}

bool LookSchedule::begin_epoch(int64_t tick) {
  const bool was_active = std::exchange(active_, active_when_(tick));
  if (active_ == was_active) return false;
  if (active_) sampling_.restart();
  if (budget_) budget_->interrupt();
  return true;
}

bool LookSchedule::end_step(bool seen) {
  if (sampling_.every() <= 1 && !budget_) return false;
  const double now = budget_ ? steady_time() : 0;
  const bool looked = sampling_.looking();
  if (budget_ && active_) {
    has_news_ = budget_->step(now - step_start_, looked) || has_news_;
    sampling_.set_every(budget_->every());
  }
  if (seen) {
    sampling_.end_step();
  } else {
    sampling_.restart();  // steps that nobody sees cannot be counted while nobody looks
  }
  step_start_ = now;
  return active_ && sampling_.looking() != looked;
}

void LookSchedule::skip_time() {
  step_start_ = steady_time();
}

std::string LookSchedule::take_news() {
  return std::exchange(has_news_, false) ? "Loupe " + budget_->words() : "";
}

std::string LookSchedule::words() const {
  if (!budget_) return sampling_.every() > 1 ? ", looks at one step in " + std::to_string(sampling_.every()) : "";
  return ", looks as often as " + rounded_text(100 * share_) + " % of the time allows (now at " + budget_->frequency() +
         ")";
}

}  // namespace loupe
