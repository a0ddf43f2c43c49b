#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace loupe::html {

/// One number an epoch as the page holds it, from the first epoch with a number on: of models that are trained one
/// after another each has few. A report holds millions of numbers, so each takes four characters whatever its value: a
/// float of 1 sign, 8 exponent and 15 mantissa bits (5 significant digits), written as big-endian base64. data.js reads
/// it back.
class PackedSeries {
 public:
  PackedSeries() = default;
  /// What text() returned.
  explicit PackedSeries(const std::string& text);

  /// Between the last number and this one there is none. NaN and infinities stay what they are; a finite value beyond
  /// the range becomes the largest.
  void put(std::size_t column, double value);
  /// Drops all behind the first so many columns.
  void cut(std::size_t columns);
  /// Keeps the columns for which `stays` is true.
  void thin(const std::function<bool(std::size_t)>& stays);

  /// The numbers, behind "N:" where the first N columns have none.
  std::string text() const;
  std::size_t bytes() const { return values_.size(); }

 private:
  std::size_t first_ = 0;  // the column of the first number
  std::string values_;
};

}  // namespace loupe::html
