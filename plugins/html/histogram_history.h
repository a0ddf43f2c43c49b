#pragma once

#include "html/page_text.h"

#include <loupe/visualizer.h>

#include <cstddef>
#include <string>
#include <vector>

namespace loupe::html {

/// The histograms of one line over epochs. Each bin is one of 64 levels of its share of the whole, on a logarithmic
/// scale, which is what a heat map can show. Keeps at most 256 epochs, evenly spread and always with the last.
class HistogramHistory {
 public:
  std::string line;  ///< its name in the page
  /// Reads what json() wrote. Throws if it is something else.
  static HistogramHistory read(const Json& json);

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
