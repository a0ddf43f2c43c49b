#pragma once

#include <cstdint>
#include <string>

namespace loupe::health {

/// Compares a loss with that of a guess which knows how the targets are spread, and nothing of the sample: the cross
/// entropy of equal scores, ln C, and the mean squared error of the targets' mean, which is their variance. Over some
/// elements of some steps.
class Guessing {
 public:
  /// @param loss  the mean cross entropy of some samples
  void take_cross_entropy(double loss, int64_t classes);
  void take_pair(double input, double target) {
    squares_ += (input - target) * (input - target);
    target_sum_ += target;
    target_squares_ += target * target;
    ++pairs_;
  }
  /// Some pairs were taken. Where there is a cross entropy too, that is compared alone.
  void take_look() { looks_ += is_cross_entropy() ? 0 : 1; }
  /// At a tick. Goes on where too few steps were looked at since the last.
  void end_epoch();
  /// Whether the loss was no better for several epochs in a row.
  bool is_no_better() const { return epochs_ >= epochs_enough; }
  /// Whether it was no better when that was compared last.
  bool was_no_better() const { return epochs_ > 0; }
  bool is_cross_entropy() const { return classes_ > 0; }
  /// "guessing among 5 classes gives 1.61", where it was compared.
  const std::string& text() const { return text_; }

 private:
  static constexpr int epochs_enough = 3;
  double cross_entropy_ = 0, uniform_ = 0;
  double squares_ = 0, target_sum_ = 0, target_squares_ = 0;
  int64_t pairs_ = 0, classes_ = 0;
  uint32_t looks_ = 0;
  int epochs_ = 0;  ///< in a row
  std::string text_;
};

}  // namespace loupe::health
