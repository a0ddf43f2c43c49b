#pragma once

#include <loupe/row.h>

#include <vector>

namespace loupe {

/// Some of the numbers of a row, whose texts outlive this.
class RowPart {
 public:
  void add(const RowValue& value) {
    value_names_.push_back(value.line);
    values_.push_back(value.value);
  }
  void add(const RowRange& range) {
    band_names_.insert(band_names_.end(), {range.low_name, range.high_name});
    bands_.insert(bands_.end(), {range.low, range.high});
  }
  /// Removes the numbers and keeps the memory.
  void clear() {
    value_names_.clear();
    band_names_.clear();
    values_.clear();
    bands_.clear();
  }
  bool empty() const { return values_.empty() && bands_.empty(); }
  /// These numbers as a row, valid until this changes. @param whole the row that they belong to
  loupe_row of(const loupe_row& whole) const {
    loupe_row part = whole;
    part.value_count = values_.size();
    part.value_names = value_names_.data();
    part.values = values_.data();
    part.band_count = bands_.size() / 2;
    part.band_names = band_names_.data();
    part.bands = bands_.data();
    return part;
  }

 private:
  std::vector<const char*> value_names_, band_names_;
  std::vector<double> values_, bands_;
};

}  // namespace loupe
