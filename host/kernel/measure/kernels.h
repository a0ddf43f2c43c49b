#pragma once

#include <cstdint>

namespace loupe::measure {

/// Elements handled at a time: 8 KiB, so that a block of the tensor and of two old values stay in the first-level cache
/// while several kernels read them, and few enough to add up floats in vector lanes without a relevant loss.
template <typename T>
inline constexpr int64_t kBlock = 8192 / static_cast<int64_t>(sizeof(T));

/// The sums in addition to those of the elements and their squares.
enum Terms : unsigned {
  kOwnTerms = 0,
  kDot = 1u << 0,       // x * last
  kChange = 1u << 1,    // (x - last) squared
  kDotChange = 1u << 2  // (x - last) * (last - older); goes with kChange
};

struct Sums {
  double sum = 0;
  double squares = 0;
  double dot = 0;
  double change_squares = 0;
  double dot_change = 0;
};

template <typename T>
struct Range {
  T minimum;
  T maximum;
};

/// The kernels for T = float or double. Each takes `n` elements, at any alignment. Products are accumulated as T: keep
/// `n` to a block, and expect infinity where squares overflow.
template <typename T>
struct Kernels {
  /// `last` and `older` are read if `terms` need them.
  Sums (*sum_block)(unsigned terms, const T* x, const T* last, const T* older, int64_t n);
  /// The same with products and sums in double, which neither overflow nor vanish.
  Sums (*sum_block_in_double)(unsigned terms, const T* x, const T* last, const T* older, int64_t n);
  /// The smallest and largest finite element; infinity and -infinity if there is none.
  Range<T> (*find_range)(const T* x, int64_t n);
  /// Elements with abs(x) > epsilon; NaN is one of them.
  int64_t (*count_active)(const T* x, int64_t n, T epsilon);
  /// Like count_active, and also sets flags[i] to 1 if x[i] is active.
  int64_t (*flag_active)(const T* x, int64_t n, T epsilon, T* flags);
  /// Like count_active for `runs` of `length` elements each, and sets flags[i] to 1 if run i has an active element.
  int64_t (*flag_active_runs)(const T* x, int64_t length, int64_t runs, T epsilon, T* flags);
  /// The sum of the L2 norms of `runs` of `length` elements each.
  double (*sum_norms)(const T* x, int64_t length, int64_t runs);
};

/// The kernels for the widest vectors of this CPU.
template <typename T>
const Kernels<T>& kernels();
template <>
const Kernels<float>& kernels<float>();
template <>
const Kernels<double>& kernels<double>();

/// IEEE half precision, as stored in memory, to float.
void widen_half(const uint16_t* from, float* to, int64_t n);

}  // namespace loupe::measure
