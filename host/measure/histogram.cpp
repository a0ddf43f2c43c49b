#include "measure/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <type_traits>

#include "loupe/abi.h"

namespace loupe::measure {
namespace {

constexpr int kBinsPerSign = 80;
constexpr int kSmallestExponent = -40;

/// The bin for each value that sign and exponent, the topmost bits of a T, can have.
template <int kExponentBits>
constexpr auto make_bin_table() {
  constexpr int kExponents = 1 << kExponentBits;
  constexpr int kBias = kExponents / 2 - 1;
  std::array<uint8_t, 2 * kExponents> table = {};
  for (int sign = 0; sign < 2; ++sign) {
    for (int biased = 0; biased < kExponents; ++biased) {
      int bin = 0;  // zeros and subnormals
      if (biased == kExponents - 1) {
        bin = LOUPE_HISTOGRAM_BINS - 1;  // NaN and Inf
      } else if (biased > 0) {
        const int magnitude = std::clamp(biased - kBias - kSmallestExponent, 0, kBinsPerSign - 1);
        bin = 1 + (sign == 1 ? 0 : kBinsPerSign) + magnitude;
      }
      table[static_cast<size_t>(sign * kExponents + biased)] = static_cast<uint8_t>(bin);
    }
  }
  return table;
}

template <typename T>
struct Bits;
template <>
struct Bits<float> {
  using Unsigned = uint32_t;
  static constexpr int kExponentBits = 8;
};
template <>
struct Bits<double> {
  using Unsigned = uint64_t;
  static constexpr int kExponentBits = 11;
};

template <typename T>
constexpr auto kBinTable = make_bin_table<Bits<T>::kExponentBits>();

template <typename T>
size_t bin_of(T value) {
  constexpr int kShift = std::numeric_limits<typename Bits<T>::Unsigned>::digits - 1 - Bits<T>::kExponentBits;
  return kBinTable<T>[static_cast<size_t>(std::bit_cast<typename Bits<T>::Unsigned>(value) >> kShift)];
}

}  // namespace

template <typename T>
void count_magnitudes(const T* x, int64_t n, uint64_t* bins) {
  // Neighbours often fall into the same bin, and counting one must wait for the other: count them apart.
  uint32_t apart[4][LOUPE_HISTOGRAM_BINS] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int64_t j = 0; j < 4; ++j) ++apart[j][bin_of(x[i + j])];
  }
  for (; i < n; ++i) ++apart[0][bin_of(x[i])];
  for (int bin = 0; bin < LOUPE_HISTOGRAM_BINS; ++bin) {
    bins[bin] += uint64_t{apart[0][bin]} + apart[1][bin] + apart[2][bin] + apart[3][bin];
  }
}

template void count_magnitudes(const float*, int64_t, uint64_t*);
template void count_magnitudes(const double*, int64_t, uint64_t*);

}  // namespace loupe::measure
