#include "measure/careful.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace loupe::measure {
namespace {

bool are_finite(const Sums& sums) {
  return std::isfinite(sums.squares + std::abs(sums.dot) + sums.change_squares + std::abs(sums.dot_change));
}

}  // namespace

template <typename T>
bool trustworthy(const Sums& sums, unsigned terms, bool squares_wanted, const T* x, const T* last, int64_t n) {
  if (!are_finite(sums)) return false;
  if constexpr (std::is_same_v<T, float>) {
    if (!squares_wanted) return true;
    const double small = static_cast<double>(n) * kSmallMeanSquare;
    if (sums.squares < small) {
      const Range<T> range = kernels<T>().find_range(x, n);
      if (range.minimum != 0 || range.maximum != 0) return false;
    }
    if ((terms & kChange) != 0 && sums.change_squares < small) {
      if (std::memcmp(x, last, static_cast<size_t>(n) * sizeof(T)) != 0) return false;
    }
  }
  return true;
}

template <typename T>
CarefulSums<T> sum_carefully(unsigned terms, const T* x, const T* last, const T* older, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    const Sums sums = kernels<float>().sum_block_in_double(terms, x, last, older, n);
    if (are_finite(sums)) return {sums, 0, 0, kernels<float>().find_range(x, n)};
  }
  CarefulSums<T> result;
  result.range = {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity()};
  Sums& sums = result.sums;
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(x[i])) ++result.nan_count;
    if (std::isinf(x[i])) ++result.inf_count;
    if (!std::isfinite(x[i])) continue;
    const double now = x[i];
    sums.sum += now;
    sums.squares += now * now;
    result.range.minimum = std::min(result.range.minimum, x[i]);
    result.range.maximum = std::max(result.range.maximum, x[i]);
    if (terms == kOwnTerms || !std::isfinite(last[i])) continue;
    const double before = last[i];
    const double change = now - before;
    if ((terms & kDot) != 0) sums.dot += now * before;
    if ((terms & kChange) != 0) sums.change_squares += change * change;
    if ((terms & kDotChange) != 0 && std::isfinite(older[i])) sums.dot_change += change * (before - older[i]);
  }
  return result;
}

template bool trustworthy(const Sums&, unsigned, bool, const float*, const float*, int64_t);
template bool trustworthy(const Sums&, unsigned, bool, const double*, const double*, int64_t);
template CarefulSums<float> sum_carefully(unsigned, const float*, const float*, const float*, int64_t);
template CarefulSums<double> sum_carefully(unsigned, const double*, const double*, const double*, int64_t);

}  // namespace loupe::measure
