#pragma once

#include <loupe/visualizer.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace loupe::html {

// The form of a run's data in the page: words as JSON, numbers packed.

using Json = nlohmann::ordered_json;

/// JSON that may stand inside an HTML script element: ASCII only, '<' escaped, invalid UTF-8 replaced. NaN and
/// infinities become null.
std::string page_json(const Json& json);
/// The same for a text, without building JSON: a report names each line of each layer.
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

/// One number per epoch in the page's form, starting at the first epoch with a number: if models are trained one after
/// another, each has numbers in few epochs. A report holds millions of numbers, so each takes exactly four characters:
/// a float of 1 sign, 8 exponent and 15 mantissa bits (5 significant digits) as big-endian base64. data.js unpacks
/// them.
class PackedSeries {
 public:
  /// Sets the number of a column; skipped columns have no number. NaN and infinities are kept; a finite value that is
  /// too large becomes the largest float of this form.
  void put(std::size_t column, double value);
  /// Drops all columns after the first `columns`.
  void cut(std::size_t columns);
  /// Keeps the columns for which `stays` is true.
  void thin(const std::function<bool(std::size_t)>& stays);

  /// The numbers, after "N:" if the first N columns have none.
  std::string text() const;
  std::size_t bytes() const { return values_.size(); }

 private:
  std::size_t first_ = 0;  // the column of the first number
  std::string values_;
};

/// The histograms of one line over epochs. The share of each bin is rounded to one of 64 logarithmic levels, as many as
/// a heat map can show. Keeps at most 256 epochs, evenly spread, and always the last one.
class HistogramHistory {
 public:
  std::string line;  ///< the line's name in the page

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
  bool last_is_provisional_ = false;  // the last column does not fit the stride: the next one replaces it
  std::size_t bytes_ = 0;
};

}  // namespace loupe::html
