#include "run/epoch_clock.h"

#include <algorithm>
#include <utility>

namespace loupe {
namespace {

using Epoch = RunProgramSection::Epoch;

// An epoch may be long; a program that calls train() once, and never eval(), must not be shown at its end only.
constexpr std::uint64_t patience_for_first = 5, patience_for_next = 100;
// Where the program's own epochs are not known, a slow one is to be seen too.
constexpr std::chrono::seconds most_seconds(60);

std::string number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

bool EpochClock::follows_modes() const {
  return kind_ == Epoch::automatic || kind_ == Epoch::train_eval;
}

std::uint64_t EpochClock::most_steps() const {
  const auto length = static_cast<std::uint64_t>(length_);
  if (kind_ == Epoch::steps) return length;
  if (knows_ends_) return length * patience_for_next;
  if (too_often_ || (!switches_ && reset_sampler_ == nullptr)) return length;
  return length * patience_for_first;
}

bool EpochClock::stepped(const void* optimizer) {
  ever_stepped_ = true;
  steps_ = std::max(steps_, ++counts_[optimizer]);
  feeding_sampler_ = reset_sampler_;
  const auto fewest = std::min_element(counts_.begin(), counts_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
  switch (kind_) {
    case Epoch::seconds:
      return std::chrono::duration<double>(Clock::now() - begin_).count() >= length_;
    case Epoch::train_eval:
      return false;
    case Epoch::automatic:
      if (!knows_ends_ && Clock::now() - begin_ >= most_seconds) return true;
      break;
    case Epoch::steps:
      break;
  }
  return fewest->second >= most_steps() || steps_ >= 2 * most_steps();
}

bool EpochClock::went_backward() {
  // So many gradients are not accumulated for one step.
  constexpr std::uint64_t patience = 20;
  ++backwards_;
  if (ever_stepped_ || kind_ == Epoch::train_eval) return false;
  if (kind_ == Epoch::seconds) return std::chrono::duration<double>(Clock::now() - begin_).count() >= length_;
  return backwards_ > patience * static_cast<std::uint64_t>(length_);
}

bool EpochClock::cleared() {
  constexpr int enough = 3;
  if (kind_ != Epoch::automatic || ever_stepped_ || backwards_ == cleared_at_) return false;
  cleared_at_ = backwards_;
  return ++cleared_ == enough;
}

bool EpochClock::mode_set(bool trains) {
  switches_ = true;
  trains_ = trains;
  if (!trains) evaluated_ = evaluated_ || has_passes();
  if (!trains || !follows_modes()) return false;
  const bool ends = evaluated_ || (kind_ == Epoch::automatic && has_passes());
  if (!ends) return false;
  // A program that acts in one mode and learns in the other switches with every step, and so does one that calls
  // train() in each; one that validates after a single step means an epoch.
  const std::uint64_t passes = ever_stepped_ ? steps_ : backwards_;
  const bool is_one = passes - std::exchange(switched_at_, passes) < 2;
  too_often_ = kind_ == Epoch::automatic && is_one && !(std::exchange(evaluated_, false) && validated_);
  if (too_often_) return false;
  knows_ends_ = true;
  return true;
}

/// A loader for validation begins anew too, but nothing is learnt from it.
bool EpochClock::sampler_reset(const void* sampler) {
  const bool ends = kind_ == Epoch::automatic && sampler == feeding_sampler_ && has_passes();
  reset_sampler_ = sampler;
  knows_ends_ = knows_ends_ || ends;
  return ends;
}

void EpochClock::ticked() {
  std::erase_if(counts_, [](const auto& each) { return each.second == 0; });  // it steps no more
  for (auto& each : counts_) each.second = 0;
  steps_ = switched_at_ = backwards_ = cleared_at_ = 0;
  evaluated_ = validated_ = false;
  begin_ = Clock::now();
}

std::string EpochClock::description() const {
  switch (kind_) {
    case Epoch::train_eval:
      return "an epoch ends where train() follows eval()";
    case Epoch::steps:
      return "an epoch is " + number(length_) + " steps";
    case Epoch::seconds:
      return "an epoch is " + number(length_) + " seconds";
    case Epoch::automatic:
      break;
  }
  return "an epoch ends where train() is called again or a data loader begins anew, else after " + number(length_) +
         " steps, or " + number(length_ * patience_for_first) + " once that has happened";
}

}  // namespace loupe
