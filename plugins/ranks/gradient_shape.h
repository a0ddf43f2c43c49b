#pragma once

#include <loupe/detail/elements.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ranks/fingerprint.h"
#include "ranks/rank_record.h"

namespace loupe::ranks {

/// Calls `take` with elements that are spread evenly over all of them, the same in every rank.
template <class Take>
void for_some(const Elements& elements, Take&& take) {
  constexpr int64_t most = 1024;
  const int64_t stride = (elements.count() + most - 1) / most;
  for (int64_t i = 0; i < elements.count(); i += stride) take(elements.at(i));
}

/// Takes the shape of all gradients of a model at one step.
class GradientShapes {
 public:
  void add(const TensorView& gradient) {
    const Elements elements(gradient);
    is_known_ = is_known_ && (elements.floating() || gradient.numel() == 0);
    if (!is_known_ || gradient.numel() == 0) return;
    for_some(elements, [&](double element) {
      signs_ += element > 0 ? '+' : element < 0 ? '-' : '0';
      signed_ += element > 0 || element < 0 ? 1 : 0;
      squares_ += element * element;
      largest_ = std::max(largest_, std::abs(element));
    });
  }
  GradientShape shape() const {
    constexpr int fewest = 32;  // others may have the same signs by chance
    if (!is_known_ || signed_ < fewest || !std::isfinite(squares_)) return {};
    return {fingerprint_of(signs_), std::sqrt(squares_), largest_};
  }

 private:
  std::string signs_;
  int signed_ = 0;
  double squares_ = 0, largest_ = 0;
  bool is_known_ = true;
};

}  // namespace loupe::ranks
