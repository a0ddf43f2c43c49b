#include "show/held_tick.h"

#include <algorithm>
#include <initializer_list>
#include <unordered_map>
#include <utility>

#include "show/row_part.h"

namespace loupe {
namespace {

std::string text(const char* part) {
  return part != nullptr ? part : "";
}

/// For whole-model plots the layer is empty or equals the tag.
std::string plot_of(const char* tag, const char* layer) {
  const std::string name = text(tag);
  return name + '\n' + (text(layer) == name ? "" : text(layer)) + '\n';
}

std::string key_of(const RowValue& value) {
  return "value\n" + plot_of(value.tag, value.layer) + text(value.line);
}
std::string key_of(const RowRange& range) {
  return "range\n" + plot_of(range.tag, range.layer) + text(range.low_name) + '\n' + text(range.high_name);
}
std::string key_of(const loupe_histogram& histogram) {
  return plot_of(histogram.tag, histogram.layer) + text(histogram.line);
}

/// Where the numbers of rows are, which are this tick's own to change.
struct HeldNumber {
  loupe_row* row;
  const double* number;  // of a band: the low one, with the high one behind it

  void replace(std::initializer_list<double> numbers, const loupe_row& by) const {
    std::copy(numbers.begin(), numbers.end(), const_cast<double*>(number));
    // Of a row that keeps some of its numbers, the count is theirs.
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

void* Blocks::take(std::size_t size, std::size_t alignment) {
  constexpr std::size_t block_size = std::size_t{1} << 16;
  std::size_t at = (used_ + alignment - 1) / alignment * alignment;
  while (place_ == blocks_.size() || at + size > blocks_[place_].size) {
    at = 0;
    if (place_ < blocks_.size()) ++place_;
    if (place_ < blocks_.size()) continue;
    const std::size_t needed = std::max(size, block_size);
    blocks_.push_back({std::unique_ptr<std::byte[]>(new std::byte[needed]), needed});  // make_unique writes zeros
  }
  used_ = at + size;
  return blocks_[place_].bytes.get() + at;
}

void HeldTick::take_over(HeldTick&& other) {
  HeldNumbers numbers;
  std::unordered_map<std::string, std::size_t> histograms;
  for (std::size_t i = 0; i < told_.size(); ++i) {
    if (auto* const* row = std::get_if<loupe_row*>(&told_[i])) note_numbers(**row, numbers);
    if (auto* const* histogram = std::get_if<loupe_histogram*>(&told_[i])) histograms.emplace(key_of(**histogram), i);
  }
  for (Told& told : other.told_) {
    if (auto* const* row = std::get_if<loupe_row*>(&told)) {
      RowPart lacking;
      loupe::each_value(**row, [&](const RowValue& value) {
        const auto known = numbers.find(key_of(value));
        if (known == numbers.end()) return lacking.add(value);
        known->second.replace({value.value}, **row);
      });
      each_range(**row, [&](const RowRange& range) {
        const auto known = numbers.find(key_of(range));
        if (known == numbers.end()) return lacking.add(range);
        known->second.replace({range.low, range.high}, **row);
      });
      if (!lacking.empty()) add(lacking.of(**row));
      continue;
    }
    auto* const* histogram = std::get_if<loupe_histogram*>(&told);
    if (histogram == nullptr) {
      told_.push_back(std::move(told));
      continue;
    }
    const auto known = histograms.find(key_of(**histogram));
    if (known == histograms.end()) {
      add(**histogram);
    } else {
      told_[known->second] = detail::Copier(blocks_).copy(*histogram);
    }
  }
  other.told_.clear();
}

void HeldTick::each_value(const std::function<void(const RowValue&)>& call) const {
  for (const Told& told : told_) {
    if (const auto* row = std::get_if<loupe_row*>(&told)) loupe::each_value(**row, call);
  }
}

}  // namespace loupe
