#include "pipeline/budget.h"

#include <loupe/number_text.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace loupe {
namespace {

constexpr uint64_t warm_up = 2;  // steps in which everything is done for the first time
constexpr std::size_t most_kept = 16, enough_looked = 3, enough_unlooked = 3, enough_to_be_sure = 8;
constexpr std::size_t enough_tried = 5;
constexpr uint64_t most = 100000;
constexpr uint64_t pairs_to_settle = 3;
/// Where one lens is set apart, the others look often at what takes little: more is looked at, for it is told less from
/// what else the machine does.
constexpr std::size_t most_kept_of_rest = 64;
constexpr uint64_t pairs_to_settle_apart = 16;
/// Of the budget: what is left over is for windows that hold one pair more than the mean.
constexpr double aimed_at = 0.9;
/// In any window of so many steps looking takes no more than so many times the share, where that is possible, each pair
/// takes as long as most do, and no lens is set apart.
constexpr uint64_t window_steps = 200;
constexpr double tolerated = 1.2;
/// A lens is tried that is charged with such a share of what lenses take. What others need as well is charged to them
/// in equal parts, so that it may save more than that.
constexpr double suspect_share = 1.0 / 3;
/// One that saved too little is tried again after so many pairs where looking takes so many times more or less by then,
/// and else after twice as many as the time before.
constexpr uint64_t pairs_between_trials = 16;
constexpr double another_cost = 1.5;
/// It is set apart where it takes so many times what all else takes, and until it takes no more than that.
constexpr double set_apart_above = 2, joins_below = 1;

/// The value that such a share of them lies below.
double quantile(const std::deque<double>& values, double share) {
  std::vector<double> sorted(values.begin(), values.end());
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(sorted.size()));
  std::nth_element(sorted.begin(), sorted.begin() + place, sorted.end());
  return sorted[static_cast<std::size_t>(place)];
}
/// One step in which the machine did something else counts for nothing.
double median(const std::deque<double>& values) {
  return quantile(values, 0.5);
}
/// A few measurements err on the safe side.
double estimate(const std::deque<double>& values) {
  if (values.empty()) return 0;
  return std::max(values.size() < enough_to_be_sure ? quantile(values, 0.75) : median(values), 0.0);
}

void keep(std::deque<double>& values, double value, std::size_t most = most_kept) {
  values.push_back(value);
  if (values.size() > most) values.pop_front();
}

uint64_t one_in(double wanted, uint64_t fewest) {
  return static_cast<uint64_t>(std::clamp(std::ceil(wanted), static_cast<double>(fewest), static_cast<double>(most)));
}

std::string percent(double share) {
  return rounded_text(100 * share, 2) + " %";
}

}  // namespace

Budget::Budget(double share, Charges charges, uint64_t fewest)
    : share_(share),
      charges_(std::move(charges)),
      fewest_(std::max<uint64_t>(fewest, 2)),
      choice_{std::max<uint64_t>(fewest, 4)} {}

bool Budget::step(double seconds, Looked looked) {
  if (++steps_ <= warm_up) return false;
  if (looked != pair_looked_) in_pair_ = 0;
  pair_looked_ = looked;
  pair_seconds_ = in_pair_ == 0 ? seconds : pair_seconds_ + seconds;
  if (++in_pair_ < 2) return false;
  in_pair_ = 0;
  if (looked == Looked::no) {
    keep(unlooked_, pair_seconds_ / 2);
    return false;
  }
  if (unlooked_.size() < enough_unlooked) return false;
  // Beside those just before it: a machine gets slower and faster.
  step_seconds_ = median(unlooked_);
  const double added = pair_seconds_ / 2 - step_seconds_;
  if (looked == Looked::all) keep(added_, added);
  if (looked == Looked::without_one) keep(rest_, added, most_kept_of_rest);
  return added_.size() >= enough_looked && choose();
}

bool Budget::choose() {
  added_seconds_ = estimate(added_);
  // Not on the safe side: too long a rest would keep the others from looking, and all together is what it is.
  rest_seconds_ = rest_.empty() ? 0 : std::max(median(rest_), 0.0);
  ++pairs_since_trial_;
  ++pairs_since_change_;
  if (suspect_ && !is_tried_out()) return false;
  if (!suspect_ && !choice_.apart && try_another()) return false;
  const bool is_sure = choice_.apart && rest_.size() >= enough_to_be_sure;
  if (pairs_since_change_ < (is_sure ? pairs_to_settle_apart : pairs_to_settle)) return false;
  const bool was_tried = suspect_.has_value();
  const Choice chosen = wanted(apart_wanted());
  suspect_.reset();
  if (!chosen.apart && (was_tried || choice_.apart)) forget_rest();
  if (chosen == choice_ || keeps_to(chosen)) return false;
  pairs_since_change_ = 0;
  choice_ = chosen;
  return true;
}

double Budget::own_share() const {
  const double own = median(added_) - median(rest_);
  return own > 0 ? own / std::max(median(rest_), 1e-9) : 0;
}

/// Where it is not clear at once, more is looked at: a busy machine makes steps longer that have nothing to do with it.
bool Budget::is_tried_out() const {
  if (rest_.size() < enough_tried) return false;
  const double share = own_share();
  return share > set_apart_above || share < joins_below || rest_.size() >= enough_to_be_sure;
}

std::optional<std::size_t> Budget::apart_wanted() const {
  const std::optional<std::size_t> apart = this->apart();
  const bool is_worth_it = apart && own_share() > (suspect_ ? set_apart_above : joins_below);
  return is_worth_it ? apart : std::nullopt;
}

/// Sees what looking takes without the lens that is charged with most. Returns whether there is one to be tried.
bool Budget::try_another() {
  if (!charges_ || wanted_every(added_seconds_) <= fewest_) return false;
  const bool costs_the_same =
      added_seconds_ < another_cost * tried_at_seconds_ && tried_at_seconds_ < another_cost * added_seconds_;
  if (pairs_since_trial_ >= (costs_the_same ? pairs_to_wait_ : pairs_between_trials)) tried_.clear();
  const std::vector<Charge> charges = charges_();
  double sum = 0;
  std::size_t charged = 0;
  for (const Charge& each : charges) {
    sum += each.seconds;
    charged += each.seconds > 0 ? 1 : 0;
  }
  if (charged < 2) return false;  // nobody would look more often
  const Charge* most_charged = nullptr;
  for (const Charge& each : charges) {
    const bool was_tried =
        std::find(tried_.begin(), tried_.end(), static_cast<std::size_t>(&each - charges.data())) != tried_.end();
    if (was_tried || each.seconds < suspect_share * sum) continue;
    if (most_charged == nullptr || each.seconds > most_charged->seconds) most_charged = &each;
  }
  if (most_charged == nullptr) return false;
  suspect_ = static_cast<std::size_t>(most_charged - charges.data());
  lens_ = most_charged->lens;
  tried_.push_back(*suspect_);
  pairs_to_wait_ = costs_the_same ? 2 * pairs_to_wait_ : pairs_between_trials;
  tried_at_seconds_ = added_seconds_;
  pairs_since_trial_ = 0;
  rest_.clear();
  return true;
}

void Budget::forget_rest() {
  if (choice_.apart) tried_ = {*choice_.apart};
  tried_at_seconds_ = added_seconds_;
  pairs_since_trial_ = 0;
  rest_.clear();
  rest_seconds_ = 0;
}

void Budget::lose_apart() {
  suspect_.reset();
  choice_ = {choice_.every};
  forget_rest();
  added_.clear();
}

double Budget::allowed() const {
  return aimed_at * share_ * std::max(step_seconds_, 1e-9);
}

uint64_t Budget::wanted_every(double seconds) const {
  return one_in(seconds / allowed(), fewest_);
}

/// The lens that is set apart takes what the others leave of the budget, which is at least half.
Budget::Choice Budget::wanted(std::optional<std::size_t> apart) const {
  if (apart) {
    const double own = std::max(added_seconds_ - rest_seconds_, 0.0);
    const uint64_t every = wanted_every(2 * rest_seconds_);
    const double left = allowed() * static_cast<double>(every) - rest_seconds_;
    const uint64_t multiple = left > 0 ? one_in(own / left, 1) : most;
    if (multiple > 1) return {every, std::min(multiple, std::max<uint64_t>(most / every, 2)), apart};
  }
  return {held_over_windows(wanted_every(added_seconds_))};
}

/// Of the pairs of steps that are looked at, a window holds one more or less: a little longer may be much better.
uint64_t Budget::held_over_windows(uint64_t every) const {
  for (uint64_t longer = every; longer <= window_steps / 2; ++longer) {
    const uint64_t period = 2 * longer;
    const uint64_t looked = 2 * (window_steps / period) + std::min<uint64_t>(window_steps % period, 2);
    const double taken = static_cast<double>(looked) * added_seconds_;
    if (taken <= tolerated * share_ * static_cast<double>(window_steps) * step_seconds_) return longer;
  }
  return every;
}

/// Small differences are the machine's; looking less often than needed does less harm than more often.
bool Budget::keeps_to(const Choice& wanted) const {
  const double used = used_share() / (aimed_at * share_);
  if (wanted.apart != choice_.apart || used > 1.1 || used < 0.5) return false;
  if (!choice_.apart && held_over_windows(choice_.every) != choice_.every) return false;
  // The same time spent, and what was the lens's is now the others', or the other way round.
  return wanted.multiple <= 4 * choice_.multiple && 4 * wanted.multiple >= choice_.multiple;
}

double Budget::used_share() const {
  if (step_seconds_ <= 0) return 0;
  const double own = choice_.apart ? std::max(added_seconds_ - rest_seconds_, 0.0) : 0;
  const double mean = added_seconds_ - own + own / static_cast<double>(choice_.multiple);
  return mean / (static_cast<double>(choice_.every) * step_seconds_);
}

std::string Budget::frequency() const {
  std::string text = "one step in " + std::to_string(choice_.every);
  if (choice_.apart)
    text += ", with the lens '" + lens_ + "' at one in " + std::to_string(choice_.every * choice_.multiple);
  return text;
}

std::string Budget::words() const {
  const auto adds = [this](double seconds) { return percent(step_seconds_ > 0 ? seconds / step_seconds_ : 0); };
  const std::string added = choice_.apart
                                ? adds(rest_seconds_) + " to its time, and " + adds(added_seconds_) + " with that lens"
                                : adds(added_seconds_) + " to its time";
  return "looks at " + frequency() + (choice_.apart ? "," : "") + " from now on: to look at one adds " + added +
         ", so that it takes " + percent(used_share()) + " of all; attach.budget is " + percent(share_);
}

}  // namespace loupe
