#include "pipeline/schedule.h"

#include <loupe/text/number_text.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/clock.h"

namespace loupe {
namespace {

constexpr uint64_t warm_up = 2;  // steps
constexpr std::size_t most_kept = 16, enough_looked = 3, enough_unlooked = 3, enough_to_be_sure = 8;
constexpr uint64_t most = 100000;
constexpr uint64_t pairs_to_settle = 3;
/// Seconds a step, where looking seems to take none.
constexpr double least_cost = 1e-5;
/// A share of the budget; the rest is a reserve for windows with one pair more than average.
constexpr double aimed_at = 0.9;
/// In any window of this many steps looking takes at most `tolerated` times the share, if possible and each pair takes
/// as long as most.
constexpr uint64_t window_steps = 200;
constexpr double tolerated = 1.2;

double quantile(const std::deque<double>& values, double share) {
  std::vector<double> sorted(values.begin(), values.end());
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(sorted.size()));
  std::nth_element(sorted.begin(), sorted.begin() + place, sorted.end());
  return sorted[static_cast<std::size_t>(place)];
}
/// Ignores single steps that the machine interrupted.
double median(const std::deque<double>& values) {
  return quantile(values, 0.5);
}
/// High while there are few measurements.
double estimate(const std::deque<double>& values) {
  return std::max(values.size() < enough_to_be_sure ? quantile(values, 0.75) : median(values), 0.0);
}

void keep(std::deque<double>& values, double value) {
  values.push_back(value);
  if (values.size() > most_kept) values.pop_front();
}

std::string percent(double share) {
  const double percents = 100 * share;
  return (percents < 10 ? rounded_text(percents, 2) : std::to_string(std::llround(percents))) + " %";
}

}  // namespace

Budget::Budget(double share, uint64_t fewest)
    : share_(share), may_look_at_all_(fewest <= 1), fewest_(std::max<uint64_t>(fewest, 2)), every_(fewest_) {}

bool Budget::step(double seconds, bool looked) {
  looked_ += looked ? 1 : 0;
  const bool looked_at_all = looks_at_all();
  if (is_chosen_ && looked) spare_ -= std::max(added_seconds_, least_cost);
  if (is_chosen_ && looked_at_all && !looks_at_all()) return true;
  const bool begins_epoch = std::exchange(begins_epoch_, false);
  if (++steps_ <= warm_up) return false;
  if (looked != pair_looked_) in_pair_ = 0;
  pair_looked_ = looked;
  if (begins_epoch) {
    in_pair_ = 1;
    pair_seconds_ = NAN;  // the second step's counts twice
    return false;
  }
  pair_seconds_ = in_pair_ == 0 ? seconds : std::isnan(pair_seconds_) ? 2 * seconds : pair_seconds_ + seconds;
  if (++in_pair_ < 2) return false;
  in_pair_ = 0;
  if (!looked) {
    keep(unlooked_, pair_seconds_ / 2);
    return false;
  }
  if (unlooked_.size() < enough_unlooked) return false;
  if (is_chosen_ && looks_at_all()) return false;  // there is nothing just before to compare with
  // Compared with the pairs just before, because machines change their speed.
  step_seconds_ = median(unlooked_);
  keep(added_, pair_seconds_ / 2 - step_seconds_);
  return added_.size() >= enough_looked && choose();
}

bool Budget::choose() {
  added_seconds_ = estimate(added_);
  if (++pairs_since_change_ < pairs_to_settle && is_chosen_) return false;
  const uint64_t wanted = wanted_every();
  const bool is_first = !std::exchange(is_chosen_, true);
  if (is_first) spare_ -= added_seconds_ * static_cast<double>(looked_);
  if (!is_first && (wanted == every_ || keeps_its_choice())) return false;
  pairs_since_change_ = 0;
  every_ = wanted;
  return true;
}

uint64_t Budget::wanted_every() const {
  const double allowed = aimed_at * share_ * std::max(step_seconds_, 1e-9);
  return held_in_windows(static_cast<uint64_t>(
      std::clamp(std::ceil(added_seconds_ / allowed), static_cast<double>(fewest_), static_cast<double>(most))));
}

/// Some windows have one pair of steps more: a slightly longer distance may keep all within the budget.
uint64_t Budget::held_in_windows(uint64_t every) const {
  for (uint64_t longer = every; longer <= window_steps / 2; ++longer) {
    const uint64_t period = 2 * longer;
    const uint64_t looked = 2 * (window_steps / period) + std::min<uint64_t>(window_steps % period, 2);
    const double taken = static_cast<double>(looked) * added_seconds_;
    if (taken <= tolerated * share_ * static_cast<double>(window_steps) * step_seconds_) return longer;
  }
  return every;
}

/// Small differences come from the machine. Looking too rarely does less harm than looking too often.
bool Budget::keeps_its_choice() const {
  const double used = used_share() / (aimed_at * share_);
  return used >= 0.5 && used <= 1.1 && held_in_windows(every_) == every_;
}

double Budget::used_share() const {
  return step_seconds_ > 0 ? added_seconds_ / (static_cast<double>(every_) * step_seconds_) : 0;
}

std::string Budget::words() const {
  const std::string when = looks_at_all() ? "once looking has taken half a second" : "from now on";
  return "looks at " + frequency() + " " + when + ": to look at one adds " +
         percent(step_seconds_ > 0 ? added_seconds_ / step_seconds_ : 0) + " to its time, so that it takes " +
         percent(used_share()) + " of all; attach.budget is " + percent(share_);
}

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
  const bool looked = looks();
  const bool was_active = std::exchange(active_, active_when_(tick));
  if (budget_) {
    sampling_.begin_epoch();
    budget_->begin_epoch();
  }
  if (active_ != was_active) {
    if (active_) sampling_.restart();
    if (budget_) budget_->interrupt();
  }
  return active_ != was_active || looks() != looked;
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
    sampling_.restart();  // steps that no tap sees cannot be counted
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
  return ", looks as often as " + rounded_text(100 * share_) + " % of the time allows";
}

}  // namespace loupe
