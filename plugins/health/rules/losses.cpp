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
  if (!event.training()) {
    if (!std::isfinite(event.scalar())) return;
    was_validated = true;
    return validation.add(event.scalar());
  }
  Training& loss = training_of(event.label());
  if (!std::isfinite(event.scalar())) {
    loss.is_non_finite = true;
    loss.is_nan = loss.is_nan || std::isnan(event.scalar());
    return;
  }
  // A loss that overflowed, and a finite one after it before any step: the step was left out.
  if (!loss.is_nan) loss.is_non_finite = false;
  loss.side.add(event.scalar());
  if (loss.pending.size() < most_pending) loss.pending.push_back(event.scalar());
}

Losses::Training& Losses::training_of(std::string_view name) {
  constexpr std::size_t most = 32;
  if (main.name.empty()) main.name = name;
  for (Training& each : trainings) {
    if (each.name == name) return each;
  }
  if (trainings.size() == most) return trainings.back();
  trainings.emplace_back().name = name;
  return trainings.back();
}

std::string Losses::shown(const Training& loss) const {
  return trainings.size() == 1 ? "the training loss" : "'" + loss.name + "'";
}

bool Losses::take_non_finite() {
  bool any = false;
  for (Training& each : trainings) {
    each.is_nan = false;
    if (!std::exchange(each.is_non_finite, false)) continue;
    non_finite = &each;
    any = true;
  }
  return any;
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
  validation = {};
  for (Training& each : trainings) {
    std::string name = std::move(each.name);
    each = {};
    each.name = std::move(name);
  }
  began_late = true;  // what it goes on with may have learned before
}

Losses::Ended Losses::end_epoch() {
  for (Training& each : trainings) {
    each.since_tick = 0;
    if (&each != &main) each.side.end_epoch();
  }
  return {training.end_epoch(), validation.end_epoch()};
}

}  // namespace loupe::health
