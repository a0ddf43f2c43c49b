#include "html/histogram_history.h"

#include <algorithm>
#include <cmath>

namespace loupe::html {

namespace {

constexpr std::size_t MAXIMUM_COLUMNS = 256;
constexpr double SMALLEST_SHARE_EXPONENT = -6;  // histogram.js spreads levels 1 to 63 over the same range

std::uint32_t level_of(double share) {
  if (!(share > 0)) return 0;
  const double place = 1 - std::log10(std::min(share, 1.0)) / SMALLEST_SHARE_EXPONENT;
  return 1 + static_cast<std::uint32_t>(std::lround(62 * std::clamp(place, 0.0, 1.0)));
}

}  // namespace

void HistogramHistory::put(double epoch, const Histogram& histogram) {
  forget_from(epoch);
  if (last_is_provisional_) {
    bytes_ -= columns_.back().levels.size();
    columns_.pop_back();
  }
  const auto is_counted = [](double count) { return std::isfinite(count) && count > 0; };
  const double* const end = histogram.counts + histogram.bin_count;
  double total = 0;
  for (const double* count = histogram.counts; count != end; ++count) total += is_counted(*count) ? *count : 0;
  const double* first = std::find_if(histogram.counts, end, is_counted);
  const double* last = end;
  while (last != first && !is_counted(last[-1])) --last;

  Column column{epoch, edges_index(histogram), static_cast<std::size_t>(first - histogram.counts), "", total};
  for (const double* count = first; count != last; ++count) {
    column.levels += base64_digit(is_counted(*count) ? level_of(*count / total) : 0);
  }
  bytes_ += column.levels.size();
  columns_.push_back(std::move(column));
  last_is_provisional_ = told_++ % stride_ != 0;
  if (columns_.size() > MAXIMUM_COLUMNS) thin();
}

void HistogramHistory::forget_from(double epoch) {
  while (!columns_.empty() && columns_.back().epoch >= epoch) {
    bytes_ -= columns_.back().levels.size();
    columns_.pop_back();
    last_is_provisional_ = false;
    told_ = columns_.size() * stride_;
  }
}

std::size_t HistogramHistory::edges_index(const Histogram& histogram) {
  std::vector<double> edges(histogram.edges, histogram.edges + histogram.bin_count + 1);
  const auto known = std::find(edges_.begin(), edges_.end(), edges);
  if (known != edges_.end()) return static_cast<std::size_t>(known - edges_.begin());
  edges_.push_back(std::move(edges));
  return edges_.size() - 1;
}

void HistogramHistory::thin() {
  std::vector<Column> kept;
  bytes_ = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i % 2 != 0 && i + 1 != columns_.size()) continue;
    bytes_ += columns_[i].levels.size();
    kept.push_back(std::move(columns_[i]));
  }
  stride_ *= 2;
  last_is_provisional_ = (told_ - 1) % stride_ != 0;
  columns_ = std::move(kept);
}

std::string HistogramHistory::json() const {
  Json columns = Json::array();
  for (const Column& column : columns_) {
    columns.push_back({column.epoch, column.edges, column.first_bin, column.levels, column.total});
  }
  return page_json({{"line", line}, {"edges", edges_}, {"columns", std::move(columns)}});
}

}  // namespace loupe::html
