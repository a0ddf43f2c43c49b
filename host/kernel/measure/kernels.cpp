// Highway compiles this file once for each instruction set, by including it repeatedly with different names in
// HWY_NAMESPACE; the code under HWY_ONCE is compiled once, at the end, and picks the best set of the CPU.
//
// Vectors that only know their length at run time cannot be kept in arrays, as the sums here are.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "measure/kernels.cpp"

#include "measure/kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace loupe::measure::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
using Vector = hn::Vec<Tag<T>>;

template <typename T>
struct Accumulator {
  // GCC would compile its default constructor for the plain CPU, which may not have these vectors.
  HWY_INLINE Accumulator() : Accumulator(hn::Zero(Tag<T>())) {}
  HWY_INLINE explicit Accumulator(Vector<T> zero)
      : sum(zero), squares(zero), dot(zero), change_squares(zero), dot_change(zero) {}
  Vector<T> sum;
  Vector<T> squares;
  Vector<T> dot;
  Vector<T> change_squares;
  Vector<T> dot_change;
};

/// One vector of elements, widened to T if they are floats and T is double.
template <typename T, typename From>
HWY_INLINE Vector<T> load(const From* from) {
  if constexpr (std::is_same_v<T, From>) {
    return hn::LoadU(Tag<T>(), from);
  } else {
    return hn::PromoteTo(Tag<T>(), hn::LoadU(hn::Rebind<From, Tag<T>>(), from));
  }
}

/// Adds one vector of elements, from `i` on.
template <unsigned kTerms, typename T, typename From>
HWY_INLINE void accumulate(Accumulator<T>& to, const From* x, const From* last, const From* older, int64_t i) {
  const auto now = load<T>(x + i);
  to.sum = hn::Add(to.sum, now);
  to.squares = hn::MulAdd(now, now, to.squares);
  if constexpr (kTerms != kOwnTerms) {
    const auto before = load<T>(last + i);
    if constexpr ((kTerms & kDot) != 0) to.dot = hn::MulAdd(now, before, to.dot);
    if constexpr ((kTerms & kChange) != 0) {
      const auto change = hn::Sub(now, before);
      to.change_squares = hn::MulAdd(change, change, to.change_squares);
      if constexpr ((kTerms & kDotChange) != 0) {
        const auto change_before = hn::Sub(before, load<T>(older + i));
        to.dot_change = hn::MulAdd(change, change_before, to.dot_change);
      }
    }
  }
}

/// The same for `n` elements, fewer than a vector has.
template <unsigned kTerms, typename T, typename From>
HWY_INLINE void accumulate_tail(Accumulator<T>& to, const From* x, const From* last, const From* older, int64_t n) {
  // Zeros add nothing to any of the sums.
  HWY_ALIGN From padded[3][HWY_MAX_BYTES / sizeof(From)] = {};
  for (int64_t i = 0; i < n; ++i) {
    padded[0][i] = x[i];
    if constexpr (kTerms != kOwnTerms) padded[1][i] = last[i];
    if constexpr ((kTerms & kDotChange) != 0) padded[2][i] = older[i];
  }
  accumulate<kTerms>(to, padded[0], padded[1], padded[2], 0);
}

template <typename T>
HWY_INLINE double add_lanes(Vector<T> v) {
  return hn::GetLane(hn::SumOfLanes(Tag<T>(), v));
}

template <unsigned kTerms, typename T, typename From>
Sums sum_terms(const From* x, const From* last, const From* older, int64_t n) {
  // Additions take a few cycles each, so several must run at a time; the more terms, the fewer of each.
  constexpr int kChains = kTerms == kOwnTerms || kTerms == kDot || kTerms == kChange ? 4 : 2;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Tag<T>()));
  Accumulator<T> chains[kChains];
  int64_t i = 0;
  for (; i + kChains * lanes <= n; i += kChains * lanes) {
    for (int chain = 0; chain < kChains; ++chain) accumulate<kTerms>(chains[chain], x, last, older, i + chain * lanes);
  }
  for (; i + lanes <= n; i += lanes) accumulate<kTerms>(chains[0], x, last, older, i);
  if (i < n) accumulate_tail<kTerms>(chains[0], x + i, last + i, older + i, n - i);
  Accumulator<T>& all = chains[0];
  for (int chain = 1; chain < kChains; ++chain) {
    all.sum = hn::Add(all.sum, chains[chain].sum);
    all.squares = hn::Add(all.squares, chains[chain].squares);
    if constexpr ((kTerms & kDot) != 0) all.dot = hn::Add(all.dot, chains[chain].dot);
    if constexpr ((kTerms & kChange) != 0) {
      all.change_squares = hn::Add(all.change_squares, chains[chain].change_squares);
    }
    if constexpr ((kTerms & kDotChange) != 0) all.dot_change = hn::Add(all.dot_change, chains[chain].dot_change);
  }
  Sums sums;
  sums.sum = add_lanes<T>(all.sum);
  sums.squares = add_lanes<T>(all.squares);
  if constexpr ((kTerms & kDot) != 0) sums.dot = add_lanes<T>(all.dot);
  if constexpr ((kTerms & kChange) != 0) sums.change_squares = add_lanes<T>(all.change_squares);
  if constexpr ((kTerms & kDotChange) != 0) sums.dot_change = add_lanes<T>(all.dot_change);
  return sums;
}

template <typename T, typename From>
Sums sum_block(unsigned terms, const From* x, const From* last, const From* older, int64_t n) {
  switch (terms) {
    case kDot:
      return sum_terms<kDot, T>(x, last, older, n);
    case kChange:
      return sum_terms<kChange, T>(x, last, older, n);
    case kDot | kChange:
      return sum_terms<kDot | kChange, T>(x, last, older, n);
    case kChange | kDotChange:
      return sum_terms<kChange | kDotChange, T>(x, last, older, n);
    case kDot | kChange | kDotChange:
      return sum_terms<kDot | kChange | kDotChange, T>(x, last, older, n);
    default:
      return sum_terms<kOwnTerms, T>(x, last, older, n);
  }
}

template <typename T>
Range<T> find_range(const T* x, int64_t n) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  constexpr int kChains = 4;
  Vector<T> minimum[kChains];
  Vector<T> maximum[kChains];
  for (int chain = 0; chain < kChains; ++chain) {
    minimum[chain] = hn::Set(d, kInfinity);
    maximum[chain] = hn::Set(d, -kInfinity);
  }
  int64_t i = 0;
  for (; i + kChains * lanes <= n; i += kChains * lanes) {
    for (int chain = 0; chain < kChains; ++chain) {
      const auto now = hn::LoadU(d, x + i + chain * lanes);
      minimum[chain] = hn::Min(minimum[chain], now);
      maximum[chain] = hn::Max(maximum[chain], now);
    }
  }
  for (int chain = 1; chain < kChains; ++chain) {
    minimum[0] = hn::Min(minimum[0], minimum[chain]);
    maximum[0] = hn::Max(maximum[0], maximum[chain]);
  }
  Range<T> range = {hn::GetLane(hn::MinOfLanes(d, minimum[0])), hn::GetLane(hn::MaxOfLanes(d, maximum[0]))};
  for (; i < n; ++i) {
    range.minimum = std::min(range.minimum, x[i]);
    range.maximum = std::max(range.maximum, x[i]);
  }
  return range;
}

template <typename T>
int64_t count_active(const T* x, int64_t n, T epsilon) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto limit = hn::Set(d, epsilon);
  int64_t inactive = 0;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    inactive += static_cast<int64_t>(hn::CountTrue(d, hn::Le(hn::Abs(hn::LoadU(d, x + i)), limit)));
  }
  for (; i < n; ++i) inactive += std::abs(x[i]) <= epsilon ? 1 : 0;
  return n - inactive;
}

template <typename T>
int64_t flag_active(const T* x, int64_t n, T epsilon, T* flags) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto limit = hn::Set(d, epsilon);
  const auto set = hn::Set(d, T{1});
  int64_t inactive = 0;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto is_inactive = hn::Le(hn::Abs(hn::LoadU(d, x + i)), limit);
    inactive += static_cast<int64_t>(hn::CountTrue(d, is_inactive));
    hn::StoreU(hn::IfThenElse(is_inactive, hn::LoadU(d, flags + i), set), d, flags + i);
  }
  for (; i < n; ++i) {
    const bool is_inactive = std::abs(x[i]) <= epsilon;
    inactive += is_inactive ? 1 : 0;
    if (!is_inactive) flags[i] = 1;
  }
  return n - inactive;
}

template <typename T>
int64_t flag_active_runs(const T* x, int64_t length, int64_t runs, T epsilon, T* flags) {
  int64_t active = 0;
  for (int64_t run = 0; run < runs; ++run) {
    const int64_t in_run = count_active(x + run * length, length, epsilon);
    if (in_run > 0) flags[run] = 1;
    active += in_run;
  }
  return active;
}

template <typename T>
double sum_norms(const T* x, int64_t length, int64_t runs) {
  const Tag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  double norms = 0;
  for (int64_t run = 0; run < runs; ++run, x += length) {
    auto lane_squares = hn::Zero(d);
    int64_t i = 0;
    for (; i + lanes <= length; i += lanes) {
      const auto now = hn::LoadU(d, x + i);
      lane_squares = hn::MulAdd(now, now, lane_squares);
    }
    double squares = add_lanes<T>(lane_squares);
    for (; i < length; ++i) squares += static_cast<double>(x[i]) * x[i];
    norms += std::sqrt(squares);
  }
  return norms;
}

/// Widens one vector by hand: without a CPU instruction for it, Highway's function does not handle NaN and infinity.
HWY_INLINE void widen_vector(const uint16_t* from, float* to) {
  const Tag<float> d;
  const hn::RebindToSigned<decltype(d)> bits;
  const hn::Rebind<uint16_t, decltype(d)> narrow;
  const auto half = hn::PromoteTo(bits, hn::LoadU(narrow, from));
  const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(bits, 0x8000)));
  const auto magnitude = hn::And(half, hn::Set(bits, 0x7fff));
  const auto subnormal = hn::Mul(hn::ConvertTo(d, magnitude), hn::Set(d, 0x1p-24f));
  // The same exponent counts from -15 in a half and from -127 in a float; that of NaN and infinity is 31 or 255.
  const auto is_finite = hn::Lt(magnitude, hn::Set(bits, 0x7c00));
  const auto offset = hn::IfThenElse(is_finite, hn::Set(bits, (127 - 15) << 23), hn::Set(bits, (255 - 31) << 23));
  const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), offset);
  const auto is_normal = hn::Gt(magnitude, hn::Set(bits, 0x03ff));
  const auto widened = hn::IfThenElse(is_normal, normal, hn::BitCast(bits, subnormal));
  hn::StoreU(hn::BitCast(d, hn::Or(widened, sign)), d, to);
}

void widen_half(const uint16_t* from, float* to, int64_t n) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Tag<float>()));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) widen_vector(from + i, to + i);
  if (i == n) return;
  uint16_t padded[HWY_MAX_BYTES / sizeof(float)] = {};
  float widened[HWY_MAX_BYTES / sizeof(float)];
  std::copy(from + i, from + n, padded);
  widen_vector(padded, widened);
  std::copy_n(widened, n - i, to + i);
}

template <typename T>
Kernels<T> all_kernels() {
  return {sum_block<T, T>, sum_block<double, T>, find_range<T>, count_active<T>,
          flag_active<T>,  flag_active_runs<T>,  sum_norms<T>};
}

// HWY_EXPORT takes no templates.
Kernels<float> float_kernels() {
  return all_kernels<float>();
}
Kernels<double> double_kernels() {
  return all_kernels<double>();
}

}  // namespace loupe::measure::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace loupe::measure {

HWY_EXPORT(float_kernels);
HWY_EXPORT(double_kernels);
HWY_EXPORT(widen_half);

template <>
const Kernels<float>& kernels<float>() {
  static const Kernels<float> best = HWY_DYNAMIC_DISPATCH(float_kernels)();
  return best;
}

template <>
const Kernels<double>& kernels<double>() {
  static const Kernels<double> best = HWY_DYNAMIC_DISPATCH(double_kernels)();
  return best;
}

void widen_half(const uint16_t* from, float* to, int64_t n) {
  HWY_DYNAMIC_DISPATCH(widen_half)(from, to, n);
}

}  // namespace loupe::measure
#endif
