#pragma once

#include <loupe/options.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <string>
#include <vector>

namespace loupe {

/// Folds the differences of one module's forwards, across epochs.
class NamedReducer {
 public:
  static std::vector<Option> options() {
    return {{"reducer",
             "passthrough",
             "what becomes of the differences",
             {"passthrough", "event", "exponential", "cumulative", "sum", "minimum", "maximum"}},
            {"duration", 0.0, "passthrough: how far back differences are shown; 0 is the epoch", 0.0},
            {"step_time", 1.0, "passthrough, event: the time from one forward to the next", 1e-12},
            {"alpha", 0.1, "exponential: the share of what is new", 1e-12, 1.0},
            {"threshold", 0.0, "event: the time is that since a difference was above it", 0.0}};
  }

  explicit NamedReducer(const Options& options)
      : kind_(options.get<std::string>("reducer")),
        step_time_(options.get<double>("step_time")),
        alpha_(options.get<double>("alpha")),
        threshold_(options.get<double>("threshold")) {
    const double duration = options.get<double>("duration");
    // A quotient of decimal fractions is not always what it says.
    if (duration > 0) capacity_ = static_cast<std::size_t>(std::ceil(duration / step_time_ - 1e-9)) + 1;
    if (capacity_ > most_kept) {
      throw Error("difference_monitor would keep " + std::to_string(capacity_) + " differences of each module; a " +
                      "'duration' of at most " + std::to_string(most_kept) + " steps is kept",
                  LOUPE_INVALID);
    }
  }

  const std::string& kind() const { return kind_; }
  bool is_passthrough() const { return kind_ == "passthrough"; }
  /// Whether there is more to show than one epoch's differences.
  bool keeps_history() const { return capacity_ > 0 && is_passthrough(); }
  const std::deque<double>& history() const { return history_; }

  /// The state after a difference. NaN and infinities are the caller's to keep out.
  double push(double difference) {
    ++count_;
    if (is_passthrough()) {
      if (keeps_history()) history_.push_back(difference);
      if (history_.size() > capacity_) history_.pop_front();
      return difference;
    }
    if (kind_ == "event") {
      state_ = difference > threshold_ ? 0
               : count_ == 1           ? std::numeric_limits<double>::infinity()
                                       : state_ + step_time_;
    } else if (count_ == 1) {
      state_ = difference;
    } else if (kind_ == "exponential") {
      state_ = alpha_ * difference + (1 - alpha_) * state_;
    } else if (kind_ == "cumulative") {
      state_ += (difference - state_) / static_cast<double>(count_);
    } else if (kind_ == "sum") {
      state_ += difference;
    } else {
      state_ = kind_ == "minimum" ? std::min(state_, difference) : std::max(state_, difference);
    }
    return state_;
  }

 private:
  static constexpr std::size_t most_kept = 100000;

  std::string kind_;
  double step_time_, alpha_, threshold_;
  std::size_t capacity_ = 0;
  std::deque<double> history_;
  double state_ = 0;
  uint64_t count_ = 0;
};

}  // namespace loupe
