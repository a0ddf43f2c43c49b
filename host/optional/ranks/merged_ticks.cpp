#include "ranks/merged_ticks.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "show/row_part.h"

namespace loupe {
namespace {

std::string text(const char* part) {
  return part != nullptr ? part : "";
}

/// The layer of whole-model plots is empty or equals the tag.
std::string plot_of(const char* tag, const char* layer) {
  const std::string name = text(tag);
  return name + '\n' + (text(layer) == name ? "" : text(layer)) + '\n';
}

std::string key_of(const RowValue& value) {
  return "value\n" + plot_of(value.tag, value.layer) + std::to_string(value.step) + '\n' + text(value.line);
}
std::string key_of(const RowRange& range) {
  return "range\n" + plot_of(range.tag, range.layer) + std::to_string(range.step) + '\n' + text(range.low_name) + '\n' +
         text(range.high_name);
}
std::string key_of(const loupe_histogram& histogram) {
  return plot_of(histogram.tag, histogram.layer) + text(histogram.line);
}

/// The places of the numbers of rows, which belong to this tick and may be changed.
struct HeldNumber {
  loupe_row* row;
  const double* number;  // the number; for a band, the low one, followed by the high one

  void replace(std::initializer_list<double> numbers, const loupe_row& by) const {
    std::copy(numbers.begin(), numbers.end(), const_cast<double*>(number));
    // If a row keeps only some of its numbers, its count is that of the kept ones.
    if (by.value_count >= row->value_count && by.band_count >= row->band_count) row->events = by.events;
  }
};
using HeldNumbers = std::unordered_map<std::string, HeldNumber>;

void note_numbers(loupe_row& row, HeldNumbers& numbers) {
  const double *value_at = row.values, *band_at = row.bands;
  each_value(row, [&](const RowValue& value) { numbers.emplace(key_of(value), HeldNumber{&row, value_at++}); });
  each_range(row, [&](const RowRange& range) {
    numbers.emplace(key_of(range), HeldNumber{&row, std::exchange(band_at, band_at + 2)});
  });
}

}  // namespace

void take_over(HeldTick& tick, HeldTick&& other) {
  HeldNumbers numbers;
  std::unordered_map<std::string, std::size_t> histograms;
  std::vector<HeldTick::Told>& own = tick.told();
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (auto* const* row = std::get_if<loupe_row*>(&own[i])) note_numbers(**row, numbers);
    if (auto* const* histogram = std::get_if<loupe_histogram*>(&own[i])) histograms.emplace(key_of(**histogram), i);
  }
  for (HeldTick::Told& told : other.told()) {
    if (auto* const* row = std::get_if<loupe_row*>(&told)) {
      RowPart lacking;
      each_value(**row, [&](const RowValue& value) {
        const auto known = numbers.find(key_of(value));
        if (known == numbers.end()) return lacking.add(value);
        known->second.replace({value.value}, **row);
      });
      each_range(**row, [&](const RowRange& range) {
        const auto known = numbers.find(key_of(range));
        if (known == numbers.end()) return lacking.add(range);
        known->second.replace({range.low, range.high}, **row);
      });
      if (!lacking.empty()) tick.add(lacking.of(**row));
    } else if (auto* const* histogram = std::get_if<loupe_histogram*>(&told)) {
      tick.add(**histogram);
      if (const auto known = histograms.find(key_of(**histogram)); known != histograms.end()) {
        own[known->second] = own.back();
        own.pop_back();
      }
    } else {
      own.push_back(std::move(told));
    }
  }
  other.told().clear();
}

void each_value(const HeldTick& tick, const std::function<void(const RowValue&)>& call) {
  for (const HeldTick::Told& told : tick.told()) {
    auto* const* row = std::get_if<loupe_row*>(&told);
    if (row != nullptr && (*row)->step == 0) each_value(**row, call);
  }
}

}  // namespace loupe
