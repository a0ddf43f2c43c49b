#pragma once

#include <loupe/abi.h>

#include <cstddef>
#include <cstdint>

namespace loupe {
inline namespace v1_0 {

/// A value of a row, with the data that the row has for all values.
struct RowValue {
  const char *tag = nullptr, *layer = nullptr, *line = nullptr;
  double value = 0;
  uint64_t events = 0;
  uint64_t step = 0;
};
/// The same for a band.
struct RowRange {
  const char *tag = nullptr, *layer = nullptr, *low_name = nullptr, *high_name = nullptr;
  double low = 0, high = 0;
  uint64_t events = 0;
  uint64_t step = 0;
};

/// Calls `take` with each RowValue of a row.
template <class Take>
void each_value(const loupe_row& row, Take&& take) {
  for (std::size_t i = 0; i < row.value_count; ++i)
    take(RowValue{row.tag, row.layer, row.value_names[i], row.values[i], row.events, row.step});
}
/// Calls `take` with each RowRange of a row.
template <class Take>
void each_range(const loupe_row& row, Take&& take) {
  for (std::size_t i = 0; i < 2 * row.band_count; i += 2) {
    take(RowRange{row.tag, row.layer, row.band_names[i], row.band_names[i + 1], row.bands[i], row.bands[i + 1],
                  row.events, row.step});
  }
}

/// The layer to show for a row, value, range or histogram; for a big plot, the plot's name.
template <class Shown>
const char* layer_of(const Shown& shown) {
  return shown.layer != nullptr ? shown.layer : shown.tag;
}

}  // namespace v1_0
}  // namespace loupe
