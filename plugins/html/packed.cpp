#include "html/packed.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace loupe::html {

std::string page_json(const Json& json) {
  // With ASCII, browsers keep the data at one byte per character. In JSON '<' occurs only in strings, so escaping all
  // of them does not change the document and leaves no "</script>" or "<!--" in it.
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  for (std::size_t place = 0; (place = text.find('<', place)) != std::string::npos;) text.replace(place, 1, "\\u003c");
  return text;
}

std::string page_text(const std::string& text) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '<'; };
  return std::all_of(text.begin(), text.end(), is_plain) ? '"' + text + '"' : page_json(text);
}

std::string page_document(const std::string& document) {
  const Json json = Json::parse(document, nullptr, false);
  return page_json(json.is_discarded() ? Json(document) : json);
}

char base64_digit(std::uint32_t six_bits) {
  return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[six_bits & 63];
}

namespace {

constexpr std::size_t PACKED_SIZE = 4;
constexpr std::uint32_t LARGEST = 0x7f7fff, NOT_A_NUMBER = 0x7fc000, INFINITE = 0x7f8000, SIGN = 0x800000;
// The NaN with every bit set means "no value"; bits_of() never returns it.
constexpr const char* MISSING = "f///";

std::uint32_t bits_of(double value) {
  if (std::isnan(value)) return NOT_A_NUMBER;
  const std::uint32_t sign = std::signbit(value) ? SIGN : 0;
  if (std::isinf(value)) return sign | INFINITE;
  const double magnitude = std::fabs(value);
  if (magnitude >= static_cast<double>(std::numeric_limits<float>::max())) return sign | LARGEST;
  const auto single = static_cast<float>(magnitude);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof bits);
  const std::uint32_t rounded = (bits + 0x7f + ((bits >> 8) & 1)) >> 8;
  return sign | (rounded > LARGEST ? LARGEST : rounded);
}

}  // namespace

void PackedSeries::put(std::size_t column, double value) {
  if (values_.empty()) first_ = column;
  const std::size_t place = (column - first_) * PACKED_SIZE;
  while (values_.size() <= place) values_ += MISSING;
  const std::uint32_t bits = bits_of(value);
  for (std::size_t i = 0; i < PACKED_SIZE; ++i) values_[place + i] = base64_digit(bits >> (18 - 6 * i));
}

void PackedSeries::cut(std::size_t columns) {
  const std::size_t left = columns > first_ ? columns - first_ : 0;
  values_.resize(std::min(values_.size(), left * PACKED_SIZE));
}

void PackedSeries::thin(const std::function<bool(std::size_t)>& stays) {
  std::string kept;
  std::size_t before = 0;
  for (std::size_t i = 0; i < first_; ++i) before += stays(i) ? 1 : 0;
  for (std::size_t i = 0; i * PACKED_SIZE < values_.size(); ++i) {
    if (stays(first_ + i)) kept.append(values_, i * PACKED_SIZE, PACKED_SIZE);
  }
  first_ = before;
  values_ = std::move(kept);
}

std::string PackedSeries::text() const {
  return first_ == 0 || values_.empty() ? values_ : std::to_string(first_) + ':' + values_;
}

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
