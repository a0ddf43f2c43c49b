#include "run/epoch_clock.h"

#include <loupe/abi.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace loupe {

bool RecurringRows::take(const std::vector<std::uint64_t>& rows) {
  // A few rows or batches may just be the present content of a rollout or a buffer.
  constexpr std::size_t fewest_rows = 4, fewest_batches = 4, most_rows = 65536;
  if (!looks_ || rows.size() < fewest_rows) return false;
  const bool is_repeated = rows == last_;  // several passes over one batch are not epochs
  last_ = rows;
  std::size_t first_time = 0, again = 0;
  for (const std::uint64_t row : rows) {
    const auto [known, is_new] = epochs_.try_emplace(row, epoch_);
    first_time += is_new ? 1 : 0;
    again += !is_new && known->second == epoch_ ? 1 : 0;
    known->second = epoch_;
  }
  const auto tenth = [&](std::size_t count) { return 10 * count <= rows.size(); };
  const bool begins = tenth(rows.size() - again) && batches_ >= fewest_batches;
  // After the first epoch, new rows come from another rollout or a stream.
  const bool all_are_known = epoch_ == 0 || tenth(first_time);
  looks_ = !is_repeated && (begins || tenth(again)) && all_are_known && epochs_.size() <= most_rows;
  if (!looks_) {
    epochs_ = {};
    return false;
  }
  ++batches_;
  if (!begins) return false;
  ++epoch_;
  batches_ = 1;
  for (const std::uint64_t row : rows) epochs_[row] = epoch_;
  return true;
}

namespace {

using Epoch = RunProgramSection::Epoch;

// Epochs in multiples of the length: a program that calls train() once, and never eval(), must be shown before it ends.
constexpr std::uint64_t patience_for_first = 5, patience_for_next = 100;
// If the program's own epochs are unknown, a slow one must also be seen.
constexpr std::chrono::seconds most_seconds(60);

std::string number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

const void* EpochClock::latest_order() const {
  const auto found = std::find_if(orders_.rbegin(), orders_.rend(), [](const Order& each) { return !each.is_of_step; });
  return found != orders_.rend() ? found->address : nullptr;
}

std::uint64_t EpochClock::most_steps() const {
  const auto length = static_cast<std::uint64_t>(length_);
  if (kind_ == Epoch::steps) return length;
  if (knows_ends_ || follows_hints_) return length * patience_for_next;
  if (too_often_ || (!switches_ && latest_order() == nullptr)) return length;
  return length * patience_for_first;
}

bool EpochClock::stepped(const void* optimizer) {
  if (!std::exchange(ever_stepped_, true)) {
    // So far backward passes were counted; this step may have taken several.
    passes_ = switched_at_ = 0;
    std::fill(std::begin(hinted_at_), std::end(hinted_at_), 0);
    for (Order& each : orders_) each.began_at = 0;
  }
  const std::uint64_t count = ++counts_[optimizer];
  if (count > steps_) {
    steps_ = count;
    ++passes_;
  }
  feeding_order_ = latest_order();
  const auto fewest = std::min_element(counts_.begin(), counts_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool is_full = fewest->second >= most_steps() || steps_ >= 2 * most_steps();
  switch (kind_) {
    case Epoch::seconds:
      return std::chrono::duration<double>(Clock::now() - begin_).count() >= length_;
    case Epoch::train_eval:
      return false;
    case Epoch::steps:
      return is_full;
    case Epoch::automatic:
      break;
  }
  // The epoch does not end here: the program's own epoch may end with this step too, and its validation follows.
  const bool is_late = !knows_ends_ && Clock::now() - begin_ >= most_seconds;
  due_ = is_full ? LOUPE_TICK_STEPS : is_late ? LOUPE_TICK_SECONDS : 0;
  return false;
}

bool EpochClock::step_begins() {
  const bool is_due_by_hint = std::exchange(is_due_by_hint_, false) && !knows_ends_;
  if (!is_automatic() || !has_passes() || (due_ == 0 && !is_due_by_hint)) return false;
  if (!is_due_by_hint) reason_ = due_;
  follows_hints_ = follows_hints_ || is_due_by_hint;
  return true;
}

bool EpochClock::went_backward() {
  // No program accumulates this many gradients for one step.
  constexpr std::uint64_t patience = 20;
  ++backwards_;
  passes_ += ever_stepped_ ? 0 : 1;
  if (ever_stepped_ || kind_ == Epoch::train_eval) return false;
  if (kind_ == Epoch::seconds) return std::chrono::duration<double>(Clock::now() - begin_).count() >= length_;
  return backwards_ > patience * static_cast<std::uint64_t>(length_);
}

bool EpochClock::mode_set(bool trains) {
  switches_ = true;
  trains_ = trains;
  const std::uint64_t since = passes_ - switched_at_;
  if (!trains) evaluated_ = evaluated_ || since > 0;
  if (!trains || !(is_automatic() || kind_ == Epoch::train_eval)) return false;
  const bool ends = evaluated_ || (is_automatic() && since > 0);
  if (!ends) return false;
  switched_at_ = passes_;
  // A program that switches with every step acts in one mode and learns in the other, or calls train() in each step. If
  // it validates after a single step, that step is an epoch.
  const bool was_evaluated = std::exchange(evaluated_, false), was_validated = std::exchange(validated_, false);
  too_often_ = is_automatic() && since < 2 && !(was_evaluated && was_validated);
  if (too_often_) return false;
  knows_ends_ = true;
  return has_passes();
}

void EpochClock::succeed(const void* former, const void* optimizer) {
  const auto known = counts_.find(former);
  if (known == counts_.end() || former == optimizer) return;
  const std::uint64_t count = known->second;
  counts_.erase(known);
  counts_[optimizer] += count;
}

/// A loader for validation starts again too, but nothing is learnt from it. An order that begins in each step is no
/// order of an epoch: it draws the samples of a batch, or only the first batch of its loader is used. A loader may
/// begin once for a trial of one step.
bool EpochClock::order_begins(const void* order, bool is_loader) {
  constexpr std::size_t most = 16;
  auto known = std::find_if(orders_.begin(), orders_.end(), [&](const Order& each) { return each.address == order; });
  Order now{order, passes_};
  if (known != orders_.end()) {
    now.after_one_step = now.began_at - known->began_at == 1;
    now.is_of_step = is_loader ? known->after_one_step && now.after_one_step : known->is_of_step || now.after_one_step;
    orders_.erase(known);
  } else if (orders_.size() == most) {
    orders_.erase(orders_.begin());
  }
  const bool ends = is_automatic() && !now.after_one_step && order == feeding_order_ && has_passes();
  orders_.push_back(now);
  if (now.is_of_step && order == feeding_order_) feeding_order_ = latest_order();
  knows_ends_ = knows_ends_ || ends;
  return ends;
}

std::uint32_t EpochClock::reason() const {
  if (!counts()) return reason_;
  return kind_ == Epoch::steps ? LOUPE_TICK_STEPS : LOUPE_TICK_SECONDS;
}

void EpochClock::hint(Hint hint) {
  if (hint == Hint::validation) validated_ = true;
  const std::uint64_t since = passes_ - std::exchange(hinted_at_[static_cast<int>(hint)], passes_);
  // A hint in each step ends no epoch, and of several hints in a row the first one ends it.
  constexpr std::uint64_t fewest = 2;
  is_due_by_hint_ = is_due_by_hint_ || since >= fewest;
}

void EpochClock::ticked() {
  std::erase_if(counts_, [](const auto& each) { return each.second == 0; });  // the optimizer no longer steps
  for (auto& each : counts_) each.second = 0;
  steps_ = backwards_ = 0;
  due_ = 0;
  reason_ = LOUPE_TICK_EPOCH;
  is_due_by_hint_ = false;
  begin_ = Clock::now();
}

std::string EpochClock::description() const {
  switch (kind_) {
    case Epoch::train_eval:
      return "an epoch ends when train() follows eval()";
    case Epoch::steps:
      return "an epoch is " + number(length_) + " steps";
    case Epoch::seconds:
      return "an epoch is " + number(length_) + " seconds";
    case Epoch::automatic:
      break;
  }
  return "an epoch is one pass over the data, as train(), data loaders, shuffled orders, samples, validations and "
         "schedulers show it, or " +
         number(length_) + " steps if passes cannot be detected";
}

std::string EpochClock::short_description() const {
  if (kind_ != Epoch::automatic) return description();
  return "epochs: one pass over the data, or " + number(length_) + " steps if passes cannot be detected";
}

}  // namespace loupe
