#include "run/epoch_clock.h"

#include <algorithm>
#include <utility>

namespace loupe {
namespace {

using Epoch = RunProgramSection::Epoch;

// An epoch may be long; a program that calls train() once, and never eval(), must not be shown at its end only.
constexpr std::uint64_t patience_for_first = 20, patience_for_next = 100;

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
  if (kind_ == Epoch::steps || too_often_ || !switches_) return length;
  return length * (alternates_ ? patience_for_next : patience_for_first);
}

bool EpochClock::stepped(const void* optimizer) {
  ever_stepped_ = true;
  steps_ = std::max(steps_, ++counts_[optimizer]);
  const auto fewest = std::min_element(counts_.begin(), counts_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
  switch (kind_) {
    case Epoch::seconds:
      return std::chrono::duration<double>(Clock::now() - begin_).count() >= length_;
    case Epoch::train_eval:
      return false;
    case Epoch::automatic:
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

bool EpochClock::mode_set(bool trains) {
  switches_ = true;
  trains_ = trains;
  if (!trains) evaluated_ = evaluated_ || has_passes();
  if (!trains || !evaluated_ || !follows_modes()) return false;
  evaluated_ = false;
  // A program that acts in one mode and learns in the other switches with every step.
  const std::uint64_t passes = ever_stepped_ ? steps_ : backwards_;
  too_often_ = kind_ == Epoch::automatic && passes - std::exchange(switched_at_, passes) < 2;
  if (too_often_) return false;
  alternates_ = true;
  return true;
}

void EpochClock::ticked() {
  std::erase_if(counts_, [](const auto& each) { return each.second == 0; });  // it steps no more
  for (auto& each : counts_) each.second = 0;
  steps_ = switched_at_ = backwards_ = 0;
  evaluated_ = false;
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
  return "an epoch ends where train() follows eval(), and after " + number(length_) +
         " steps in a program that calls neither";
}

}  // namespace loupe
