#pragma once

#include <loupe/visualizer.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace loupe::html {

// How the page holds what the run says: words as JSON, numbers packed.

using Json = nlohmann::ordered_json;

/// JSON that may stand inside an HTML script element: ASCII only, '<' escaped, bytes that are no UTF-8 replaced. NaN
/// and infinities become null.
std::string page_json(const Json& json);
/// The same of a text: a report names each line of each layer.
std::string page_text(const std::string& text);
/// The same for a JSON document; other text becomes a string.
std::string page_document(const std::string& document);
/// An array of JSON documents.
template <class Documents>
std::string json_list(const Documents& documents) {
  std::string list = "[";
  for (const std::string& each : documents) {
    if (list.size() > 1) list += ',';
    list += each;
  }
  return list += ']';
}

/// One character of base64 for a number from 0 to 63.
char base64_digit(std::uint32_t six_bits);

/// One number an epoch as the page holds it, from the first epoch with a number on: of models that are trained one
/// after another each has few. A report holds millions of numbers, so each takes four characters whatever its value: a
/// float of 1 sign, 8 exponent and 15 mantissa bits (5 significant digits), written as big-endian base64. data.js reads
/// it back.
class PackedSeries {
 public:
  /// Between the last number and this one there is none. NaN and infinities stay what they are; a finite value beyond
  /// the range becomes the largest.
  void put(std::size_t column, double value);
  /// Drops all columns after the first `columns`.
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

/// The histograms of one line over epochs. Each bin is one of 64 levels of its share of the whole, on a logarithmic
/// scale, which is what a heat map can show. Keeps at most 256 epochs, evenly spread and always with the last.
class HistogramHistory {
 public:
  std::string line;  ///< its name in the page

  void put(double epoch, const Histogram& histogram);
  /// Forgets the histograms at `epoch` and later.
  void forget_from(double epoch);
  std::size_t bytes() const { return bytes_; }
  /// {"line", "edges": [[...]], "columns": [[epoch, index into edges, first bin, "levels", elements]]}; level 0 ("A")
  /// is empty, 1 to 63 are shares of 1e-6 to 1. An infinite edge is null.
  std::string json() const;

 private:
  struct Column {
    double epoch;
    std::size_t edges, first_bin;
    std::string levels;
    double total;
  };

  std::size_t edges_index(const Histogram& histogram);
  void thin();

  std::vector<std::vector<double>> edges_;
  std::vector<Column> columns_;
  std::size_t stride_ = 1, told_ = 0;
  bool last_is_provisional_ = false;  // the last column is off the stride: the next one takes its place
  std::size_t bytes_ = 0;
};

}  // namespace loupe::html
