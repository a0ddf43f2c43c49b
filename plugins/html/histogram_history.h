#ifndef LOUPE_HTML_HISTOGRAM_HISTORY_H
#define LOUPE_HTML_HISTOGRAM_HISTORY_H

#include <loupe/visualizer.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace loupe::html {

/// The histograms of one line over epochs, each bin as one of 64 levels of its share of the whole on a logarithmic
/// scale: what a heat map can show. At most 256 epochs are kept, evenly spread; the last is always among them.
class HistogramHistory {
 public:
  explicit HistogramHistory(std::string line) : line_(std::move(line)) {}

  const std::string& line() const { return line_; }
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

  std::string line_;
  std::vector<std::vector<double>> edges_;
  std::vector<Column> columns_;
  std::size_t stride_ = 1, told_ = 0;
  bool last_is_provisional_ = false;  // the last column is off the stride: the next one takes its place
  std::size_t bytes_ = 0;
};

}  // namespace loupe::html

#endif
