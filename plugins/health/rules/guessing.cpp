#include "health/rules/guessing.h"

#include <cmath>

#include "health/rules/rule.h"

namespace loupe::health {

void Guessing::take_cross_entropy(double loss, int64_t classes) {
  if (!is_cross_entropy()) looks_ = 0;
  cross_entropy_ += loss;
  uniform_ += std::log(static_cast<double>(classes));
  classes_ = classes;
  ++looks_;
}

void Guessing::end_epoch() {
  constexpr uint32_t looks_enough = 8;
  constexpr double nearly = 0.98;
  if (looks_ < looks_enough) return;
  double loss = cross_entropy_ / looks_, guess = uniform_ / looks_;
  if (!is_cross_entropy()) {
    const double count = static_cast<double>(pairs_), mean = target_sum_ / count;
    loss = squares_ / count;
    guess = target_squares_ / count - mean * mean;
    constexpr double rounding = 1e-6;
    if (!(guess > rounding * mean * mean)) guess = 0;
  }
  const bool is_no_better = guess > 0 && loss >= nearly * guess;
  epochs_ = is_no_better ? epochs_ + 1 : 0;
  text_ = is_cross_entropy() ? "guessing among " + std::to_string(classes_) + " classes gives " + number(guess)
                             : "the mean of the targets as a constant answer gives " + number(guess);
  cross_entropy_ = uniform_ = squares_ = target_sum_ = target_squares_ = 0;
  pairs_ = 0;
  looks_ = 0;
}

}  // namespace loupe::health
