#include "html/packed_series.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "html/page_text.h"

namespace loupe::html {

namespace {

constexpr std::size_t PACKED_SIZE = 4;
constexpr std::uint32_t LARGEST = 0x7f7fff, NOT_A_NUMBER = 0x7fc000, INFINITE = 0x7f8000, SIGN = 0x800000;
// The NaN with every bit set stands for "no value"; bits_of() never makes it.
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

PackedSeries::PackedSeries(const std::string& text) {
  const std::size_t mark = text.find(':');
  if (mark != std::string::npos) first_ = std::stoul(text.substr(0, mark));
  values_ = mark == std::string::npos ? text : text.substr(mark + 1);
}

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

}  // namespace loupe::html
