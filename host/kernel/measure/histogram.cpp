#include "measure/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <type_traits>

namespace loupe::measure {
namespace {

constexpr int kBinsPerSign = kHistogramBins / 2;
constexpr int kSmallestExponent = -40;  // the least magnitudes with separate bins
constexpr int kSmallestNormal = std::numeric_limits<float>::min_exponent - 1;

/// The slot for each value that sign and exponent, the topmost bits of a T, can have.
template <int kExponentBits>
constexpr auto make_slot_table() {
  constexpr int kExponents = 1 << kExponentBits;
  constexpr int kBias = kExponents / 2 - 1;
  std::array<uint8_t, 2 * kExponents> table = {};
  for (int sign = 0; sign < 2; ++sign) {
    for (int biased = 0; biased < kExponents; ++biased) {
      int slot = kBinsPerSign;
      if (biased == kExponents - 1) {
        slot = kHistogramBins;
      } else if (biased - kBias >= kSmallestNormal) {
        const int magnitude = std::clamp(biased - kBias - kSmallestExponent, 0, kBinsPerSign - 1);
        slot = sign == 1 ? kBinsPerSign - 1 - magnitude : kBinsPerSign + 1 + magnitude;
      }
      table[static_cast<size_t>(sign * kExponents + biased)] = static_cast<uint8_t>(slot);
    }
  }
  return table;
}

/// The first bin of small magnitudes also counts smaller ones, down to the smallest normal float.
constexpr auto make_edges() {
  std::array<double, kHistogramBins + 1> edges = {};
  double magnitude = 1;
  for (int i = 0; i < -kSmallestExponent; ++i) magnitude /= 2;
  for (size_t i = 1; i < kBinsPerSign; ++i) {
    magnitude *= 2;
    edges[kBinsPerSign - i] = -magnitude;
    edges[kBinsPerSign + 1 + i] = magnitude;
  }
  edges[kBinsPerSign] = -double{std::numeric_limits<float>::min()};
  edges[kBinsPerSign + 1] = double{std::numeric_limits<float>::min()};
  edges.front() = -std::numeric_limits<double>::infinity();
  edges.back() = std::numeric_limits<double>::infinity();
  return edges;
}

template <typename T>
struct Bits {
  using Unsigned = std::conditional_t<std::is_same_v<T, float>, uint32_t, uint64_t>;
  static constexpr int kExponentBits = std::numeric_limits<Unsigned>::digits - std::numeric_limits<T>::digits;
};

template <typename T>
constexpr auto kSlotTable = make_slot_table<Bits<T>::kExponentBits>();

template <typename T>
size_t slot_of(T value) {
  constexpr int kShift = std::numeric_limits<typename Bits<T>::Unsigned>::digits - 1 - Bits<T>::kExponentBits;
  return kSlotTable<T>[static_cast<size_t>(std::bit_cast<typename Bits<T>::Unsigned>(value) >> kShift)];
}

}  // namespace

const double* histogram_edges() {
  static constexpr auto edges = make_edges();
  return edges.data();
}

template <typename T>
void count_magnitudes(const T* x, int64_t n, uint64_t* slots) {
  // Neighbours often fall into the same slot, where one count would wait for the other: count them separately.
  uint32_t apart[4][kHistogramSlots] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int64_t j = 0; j < 4; ++j) ++apart[j][slot_of(x[i + j])];
  }
  for (; i < n; ++i) ++apart[0][slot_of(x[i])];
  for (int slot = 0; slot < kHistogramSlots; ++slot) {
    slots[slot] += uint64_t{apart[0][slot]} + apart[1][slot] + apart[2][slot] + apart[3][slot];
  }
}

template void count_magnitudes(const float*, int64_t, uint64_t*);
template void count_magnitudes(const double*, int64_t, uint64_t*);

}  // namespace loupe::measure
