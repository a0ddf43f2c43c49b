#include "health/losses.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace loupe::health {
namespace {

constexpr std::size_t most_recent = 100;
constexpr std::size_t most_pending = 1024;

using Place = std::deque<double>::const_iterator;

double mean_of(Place begin, Place end) {
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

constexpr std::ptrdiff_t just_before = 5;

/// How many times the mean of those just before it a loss is.
double jump_to(double loss, Place end) {
  return loss * static_cast<double>(just_before) / std::accumulate(end - just_before, end, 0.0);
}

/// The largest of them: losses of single samples jump as a matter of course.
double largest_jump(const std::deque<double>& losses) {
  double largest = 1;
  for (auto each = losses.begin() + just_before; each < losses.end(); ++each)
    largest = std::max(largest, jump_to(*each, each));
  return largest;
}

}  // namespace

void Losses::Side::add(double loss) {
  sum += loss;
  if (count > 0) changes += std::abs(loss - last);
  last = loss;
  ++count;
  curve.add(loss);
}

void Losses::Side::end_epoch() {
  if (count == 0) return;
  Epoch epoch;
  epoch.mean = sum / static_cast<double>(count);
  epoch.mean_change = count > 1 ? changes / static_cast<double>(count - 1) : 0;
  epoch.count = count;
  epochs.push_back(epoch);
  curve_before = std::exchange(last_curve, std::exchange(curve, {}));
  sum = changes = last = 0;
  count = 0;
}

void Losses::process(const Event& event) {
  if (!event.is_loss()) return;
  const std::lock_guard lock(mutex_);
  if (!std::isfinite(event.scalar())) {
    non_finite_ = non_finite_ || event.training();
    return;
  }
  if (!event.training()) {
    validated_ = true;
    return validation_.add(event.scalar());
  }
  training_.add(event.scalar());
  if (pending_.size() < most_pending) pending_.push_back(event.scalar());
}

bool Losses::take_non_finite() {
  const std::lock_guard lock(mutex_);
  return std::exchange(non_finite_, false);
}

bool Losses::has_halved() {
  const std::lock_guard lock(mutex_);
  return !training_.epochs.empty() && training_.mean_now() < 0.5 * training_.epochs.front().mean;
}

bool Losses::has_come_down() {
  const std::lock_guard lock(mutex_);
  const std::vector<Epoch>& epochs = training_.epochs;
  const bool is_early = began_late_ || epochs.empty() || (epochs.size() == 1 && training_.count == 0);
  // Of a loss below 0 a tenth says nothing.
  return is_early || !(epochs.front().mean > 0) || training_.mean_now() < 0.9 * epochs.front().mean;
}

void Losses::begin_late() {
  const std::lock_guard lock(mutex_);
  began_late_ = true;
}

bool Losses::take_validation() {
  const std::lock_guard lock(mutex_);
  return std::exchange(validated_, false);
}

void Losses::judge_spikes(const Judge& judge) {
  constexpr uint64_t enough = 10;
  const std::lock_guard lock(mutex_);
  for (const double loss : pending_) {
    if (seen_ < enough) first_ += loss / static_cast<double>(enough);
    if (seen_ >= enough) {
      const Place begin = recent_.begin(), end = recent_.end();
      const auto [smallest, at_largest] = std::minmax_element(begin, end);
      const double mean = mean_of(begin, end), largest = *at_largest;
      // Of a loss that crosses 0 nothing is so many times as much. Where one has come down to nearly nothing, ten times
      // that is nothing too.
      const bool crosses_zero = *smallest < 0;
      const bool matters = !crosses_zero && loss > 0 && loss > 0.1 * std::abs(first_);
      // Beside what came just before, too, where a loss has long come down from its start.
      const std::size_t lately = std::min<std::size_t>(20, recent_.size());
      const Place late = end - static_cast<std::ptrdiff_t>(lately);
      constexpr double far_above = 5;
      const double mean_lately = mean_of(late, end), largest_lately = *std::max_element(late, end);
      const bool sudden = loss > 0.5 * std::abs(first_) && loss > judge.limits.hard_spike_factor * mean_lately &&
                          loss > far_above * largest_lately && largest_lately < far_above * mean_lately &&
                          jump_to(loss, end) > far_above * largest_jump(recent_);
      const bool hard = matters && largest > 0 && (loss > judge.limits.hard_spike_factor * largest || sudden);
      spikes_ = matters && mean > 0 && loss > judge.limits.spike_factor * mean ? spikes_ + 1 : 0;
      if (hard || spikes_ >= judge.limits.spikes) {
        Sight sight;
        sight.rule = "loss_spike";
        sight.value = loss;
        sight.threshold =
            hard ? judge.limits.hard_spike_factor * (sudden ? mean_lately : largest) : judge.limits.spike_factor * mean;
        sight.tag = "Loss";
        sight.message =
            hard ? "the training loss jumped to " + number(loss) + ", where the mean of the last " +
                       std::to_string(lately) + " was " + number(mean_lately) + " and the largest of the last " +
                       std::to_string(recent_.size()) + " was " + number(largest)
                 : "the training loss was above " + number(judge.limits.spike_factor) + " times its mean of " +
                       number(mean) + " for " + std::to_string(spikes_) + " times in a row, last " + number(loss);
        sight.advice = "look at the batch of this step, clip the gradients, or lower the learning rate";
        judge.tell(sight);
      }
    }
    ++seen_;
    recent_.push_back(loss);
    if (recent_.size() > most_recent) recent_.pop_front();
  }
  pending_.clear();
}

void Losses::judge_epoch(const Judge& judge, bool trends, bool slow_swings) {
  const std::lock_guard lock(mutex_);
  const std::size_t trained = training_.epochs.size(), validated = validation_.epochs.size();
  training_.end_epoch();
  validation_.end_epoch();
  if (!trends) return;
  if (training_.epochs.size() > trained) judge_training(judge, slow_swings);
  if (validation_.epochs.size() > validated) judge_overfitting(judge);
}

void Losses::judge_training(const Judge& judge, bool slow_swings) {
  const std::vector<Epoch>& epochs = training_.epochs;
  if (epochs.size() < 2) return;
  const Epoch& now = epochs.back();
  const auto best = std::min_element(epochs.begin(), epochs.end() - 1,
                                     [](const Epoch& a, const Epoch& b) { return a.mean < b.mean; });
  Sight sight;
  sight.at_tick = true;
  sight.tag = "Loss";
  const bool above_start = now.mean > epochs.front().mean;
  if (best->mean > 0 && now.mean > judge.limits.diverging_factor * best->mean && above_start) {
    sight.rule = "diverging_loss";
    sight.severity = LOUPE_SEVERITY_ERROR;
    sight.value = now.mean;
    sight.threshold = judge.limits.diverging_factor * best->mean;
    sight.message = "the training loss grows: " + number(now.mean) + " in epoch " + std::to_string(epochs.size()) +
                    ", where it was " + number(best->mean) + " in epoch " + std::to_string(best - epochs.begin() + 1);
    sight.advice = "lower the learning rate or clip the gradients; see that the loss is minimized, not maximized";
    judge.tell(sight);
  }
  judge_oscillation(judge, slow_swings);
  constexpr std::size_t enough_epochs = 3;
  if (epochs.size() < enough_epochs) return;
  const double first = epochs.front().mean;
  const auto lowest = std::min_element(epochs.begin() + 1, epochs.end(),
                                       [](const Epoch& a, const Epoch& b) { return a.mean < b.mean; });
  const bool decreased = lowest->mean < first - 0.01 * std::abs(first);
  // What goes on from a checkpoint may have arrived.
  if (!decreased && first != 0 && !began_late_) {
    sight = {};
    sight.at_tick = true;
    sight.rule = "loss_not_decreasing";
    sight.tag = "Loss";
    sight.value = now.mean;
    sight.threshold = first;
    sight.message = "the training loss has not come down in " + std::to_string(epochs.size()) +
                    " epochs: " + number(first) + " in the first, " + number(now.mean) + " in the last of them";
    sight.advice =
        "try another learning rate, and see that inputs belong to their targets and that the step changes the "
        "model";
    judge.tell(sight);
  }
}

void Losses::judge_oscillation(const Judge& judge, bool slow_swings) {
  const std::vector<Epoch>& epochs = training_.epochs;
  const Epoch &now = epochs.back(), &before = epochs[epochs.size() - 2];
  // Of a loss that crosses 0, as policies have it, nothing is a share.
  if (std::any_of(recent_.begin(), recent_.end(), [](double loss) { return loss <= 0; })) return;
  Sight sight;
  sight.rule = "loss_oscillating";
  sight.at_tick = true;
  sight.tag = "Loss";
  // Losses of small batches jump as well, and come down all the same: above its start less is enough.
  const double first = epochs.front().mean;
  const double limit = judge.limits.oscillation * (now.mean > first + 0.2 * std::abs(first) ? 0.6 : 1);
  const auto jumps = [&](const Epoch& epoch) {
    return epoch.count >= 8 && epoch.mean > 0.8 * first && epoch.mean_change > limit * std::abs(epoch.mean);
  };
  if (jumps(now) && jumps(before) && now.mean > 0.9 * before.mean) {
    sight.value = now.mean_change / now.mean;
    sight.threshold = limit;
    sight.message = "the training loss swings by " + percent(sight.value) +
                    " of its mean from one to the next, and does not come down";
    sight.advice = "lower the learning rate, or use larger batches";
    return judge.tell(sight);
  }
  // Where little is left of the loss, swings of it are nothing.
  if (!slow_swings || now.mean < 0.1 * first) {
    epochs_with_swings_ = 0;
    return;
  }
  // What swings slowly and widely is not noise, even while it becomes less.
  constexpr std::size_t turns_enough = 4, enough_in_the_same_way = 3;
  constexpr double sure_of_swings = 3, sure_of_repeats = 2.5, same_way = 0.7;
  constexpr std::size_t enough_values = 64;
  const std::vector<double>& curve = training_.last_curve.values();
  const std::vector<double> lately =
      curve.size() >= enough_values ? curve : std::vector<double>(recent_.begin(), recent_.end());
  const std::size_t turns = count_turns(lately, sure_of_swings), repeated = count_turns(lately, sure_of_repeats);
  const double likeness = correlation(curve, training_.curve_before.values());
  constexpr int epochs_enough = 2;
  epochs_with_swings_ = turns >= turns_enough ? epochs_with_swings_ + 1 : 0;
  if (repeated >= enough_in_the_same_way && likeness > same_way) {
    sight.value = likeness;
    sight.threshold = same_way;
    sight.message = "the training loss goes up and down in the same way in each epoch (a correlation of " +
                    number(likeness) + " with the epoch before)";
    sight.advice = "shuffle the samples anew in each epoch, if their order is not meant: they seem to come sorted";
    judge.tell(sight);
  } else if (epochs_with_swings_ >= epochs_enough) {
    sight.value = static_cast<double>(turns);
    sight.threshold = turns_enough;
    sight.message = "the training loss swings slowly up and down by a fifth of its mean and more, " +
                    std::to_string(turns) + " times lately";
    sight.advice = "lower the learning rate or the momentum, and see that the samples are shuffled";
    judge.tell(sight);
  }
}

void Losses::judge_overfitting(const Judge& judge) {
  constexpr std::size_t patience = 2;
  const std::vector<Epoch>& held_out = validation_.epochs;
  const std::vector<Epoch>& trained = training_.epochs;
  if (held_out.size() < patience + 1 || trained.size() < 2) return;
  const auto best = std::min_element(held_out.begin(), held_out.end(),
                                     [](const Epoch& a, const Epoch& b) { return a.mean < b.mean; });
  const auto since = static_cast<std::size_t>(held_out.end() - best - 1);
  if (since < patience || !(best->mean > 0)) return;
  // Where a loss has come down from far above, a tenth of what little is left says nothing.
  constexpr double share_lost = 0.05;
  const double won = std::max(held_out.front().mean - best->mean, 0.0);
  const double limit = std::max(judge.limits.overfitting_factor * best->mean, best->mean + share_lost * won);
  const bool stays_above =
      std::all_of(held_out.end() - patience, held_out.end(), [&](const Epoch& each) { return each.mean > limit; });
  const bool still_learns =
      trained.back().mean < 0.9 * trained[trained.size() - 1 - std::min(since, trained.size() - 1)].mean;
  if (!stays_above || !still_learns || held_out.back().mean < 1.5 * trained.back().mean) return;
  Sight sight;
  sight.rule = "overfitting";
  sight.at_tick = true;
  sight.value = held_out.back().mean;
  sight.threshold = limit;
  sight.tag = "Loss";
  sight.message = "the validation loss grows while the training loss falls: it was lowest with " + number(best->mean) +
                  ", and is " + number(held_out.back().mean) + " " + std::to_string(since) +
                  " epochs later, beside a training loss of " + number(trained.back().mean);
  sight.advice = "stop at the best epoch, or use more data, augmentation, dropout or weight decay";
  // Densities have losses below 0 too; of others the sign is wrong.
  if (trained.back().mean < 0) sight.advice = "see that the loss is minimized, not maximized; else " + sight.advice;
  judge.tell(sight);
}

}  // namespace loupe::health
