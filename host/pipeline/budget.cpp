#include "pipeline/budget.h"

#include <loupe/number_text.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace loupe {
namespace {

constexpr uint64_t warm_up = 2;  // steps in which everything is done for the first time
constexpr std::size_t most_kept = 16, enough_looked = 3, enough_unlooked = 3, enough_to_be_sure = 8;
constexpr uint64_t fewest = 2, most = 100000;
constexpr uint64_t pairs_to_settle = 3;
/// Of the budget: what is left over is for windows that hold one pair more than the mean.
constexpr double aimed_at = 0.9;

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

void keep(std::deque<double>& values, double value) {
  values.push_back(value);
  if (values.size() > most_kept) values.pop_front();
}

std::string percent(double share) {
  return rounded_text(100 * share, 2) + " %";
}

}  // namespace

bool Budget::step(double seconds, bool looked) {
  if (++steps_ <= warm_up) return false;
  if (looked != pair_looked_) in_pair_ = 0;
  pair_looked_ = looked;
  pair_seconds_ = in_pair_ == 0 ? seconds : pair_seconds_ + seconds;
  if (++in_pair_ < 2) return false;
  in_pair_ = 0;
  if (!looked) {
    keep(unlooked_, pair_seconds_ / 2);
    return false;
  }
  if (unlooked_.size() < enough_unlooked) return false;
  // Beside those just before it: a machine gets slower and faster.
  step_seconds_ = median(unlooked_);
  keep(added_, pair_seconds_ / 2 - step_seconds_);
  return added_.size() >= enough_looked && choose();
}

bool Budget::choose() {
  // A few measurements err on the safe side.
  added_seconds_ = std::max(added_.size() < enough_to_be_sure ? quantile(added_, 0.75) : median(added_), 0.0);
  if (++pairs_since_change_ < pairs_to_settle) return false;
  const double wanted = std::ceil(added_seconds_ / (aimed_at * share_ * std::max(step_seconds_, 1e-9)));
  const auto chosen = static_cast<uint64_t>(std::clamp(wanted, static_cast<double>(fewest), static_cast<double>(most)));
  // Small differences are the machine's; looking less often than needed does less harm than more often.
  const auto now = static_cast<double>(every_), then = static_cast<double>(chosen);
  if (then <= 1.1 * now && then >= 0.6 * now) return false;
  pairs_since_change_ = 0;
  return std::exchange(every_, chosen) != chosen;
}

double Budget::used_share() const {
  return step_seconds_ > 0 ? added_seconds_ / (static_cast<double>(every_) * step_seconds_) : 0;
}

std::string Budget::words() const {
  return "looks at one step in " + std::to_string(every_) + " from now on: to look at one adds " +
         percent(step_seconds_ > 0 ? added_seconds_ / step_seconds_ : 0) + " to its time, so that it takes " +
         percent(used_share()) + " of all; attach.budget is " + percent(share_);
}

}  // namespace loupe
