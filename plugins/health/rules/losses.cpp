#include "health/rules/losses.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace loupe::health {

void Losses::Side::add(double loss) {
  sum += loss;
  if (count > 0) changes += std::abs(loss - last);
  if (count > 1) changes_of_two += std::abs(loss - last_but_one);
  last_but_one = last;
  last = loss;
  ++count;
  curve.add(loss);
}

bool Losses::Side::end_epoch() {
  if (count == 0) return false;
  Epoch epoch;
  epoch.mean = sum / static_cast<double>(count);
  epoch.mean_change = count > 1 ? changes / static_cast<double>(count - 1) : 0;
  epoch.mean_change_of_two = count > 2 ? changes_of_two / static_cast<double>(count - 2) : epoch.mean_change;
  epoch.count = count;
  epochs.push_back(epoch);
  curve_before = std::exchange(last_curve, std::exchange(curve, {}));
  sum = changes = changes_of_two = last = last_but_one = 0;
  count = 0;
  return true;
}

void Losses::process(const Event& event) {
  constexpr std::size_t most_pending = 1024;
  if (!event.is_loss()) return;
  const std::lock_guard lock(mutex);
  if (!std::isfinite(event.scalar())) {
    is_non_finite = is_non_finite || event.training();
    is_nan = is_nan || (event.training() && std::isnan(event.scalar()));
    return;
  }
  if (!event.training()) {
    was_validated = true;
    return validation.add(event.scalar());
  }
  // A loss that overflowed, and a finite one after it before any step: the step was left out.
  if (!is_nan) is_non_finite = false;
  training.add(event.scalar());
  if (pending.size() < most_pending) pending.push_back(event.scalar());
}

bool Losses::has_halved() const {
  return !training.epochs.empty() && training.mean_now() < 0.5 * training.epochs.front().mean;
}

bool Losses::has_come_down() const {
  const std::vector<Epoch>& epochs = training.epochs;
  const bool is_early = began_late || epochs.empty() || (epochs.size() == 1 && training.count == 0);
  // Of a loss below 0 a tenth says nothing.
  return is_early || !(epochs.front().mean > 0) || training.mean_now() < 0.9 * epochs.front().mean;
}

bool Losses::Epoch::compares_to(const Epoch& other) const {
  constexpr double nearly = 0.9;
  const auto few = static_cast<double>(std::min(count, other.count)),
             many = static_cast<double>(std::max(count, other.count));
  return few + 1 >= nearly * many;
}

void Losses::begin_series() {
  training = validation = {};
  pending.clear();
  recent.clear();
  first = 0;
  seen = 0;
  spikes = 0;
  epochs_with_swings = 0;
  began_late = true;  // what it goes on with may have learned before
}

Losses::Ended Losses::end_epoch() {
  since_tick = 0;
  return {training.end_epoch(), validation.end_epoch()};
}

}  // namespace loupe::health
