#pragma once

#include <loupe/detail/elements.h>
#include <loupe/text/rows_text.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace loupe::health {

/// The extent of all elements of a tensor.
struct Extent {
  int64_t nan_count = 0, inf_count = 0;
  double largest = 0;  ///< magnitude, of those that are finite
  bool is_finite() const { return nan_count == 0 && inf_count == 0; }
};

/// A position in part `i` of `count` elements divided into `parts` equal parts, at a different offset in each part;
/// there are at least as many elements as parts.
inline int64_t scattered_place(int64_t i, int64_t parts, int64_t count) {
  constexpr int bits_below = 20;
  const uint64_t length = (static_cast<uint64_t>(count) << bits_below) / static_cast<uint64_t>(parts);
  const uint64_t within = (static_cast<uint64_t>(i + 1) * 0x9e3779b97f4a7c15 >> 44) * (length >> bits_below);
  return static_cast<int64_t>((static_cast<uint64_t>(i) * length + within) >> bits_below);
}

/// Mixes some bits into a hash.
inline uint64_t mixed(uint64_t hash, uint64_t bits) {
  return (hash ^ bits) * 0x9e3779b97f4a7c15 ^ hash >> 29;
}

/// Occasional questions of the rules about a tensor's elements; the host makes the measurements of every event.
class Elements : public loupe::Elements {
 public:
  using loupe::Elements::Elements;
  /// Fewer bits than float32 has: updates may be too small to change a parameter.
  bool is_low_precision() const { return kind() == Kind::float16 || kind() == Kind::bfloat16; }

  /// Calls `call` with a function that reads an element by its position; it avoids the type switch for contiguous
  /// floats, which nearly all tensors are.
  template <class Call>
  auto read_by(Call&& call) const {
    if (const float* values = floats()) return call([values](int64_t place) { return double{values[place]}; });
    return call([this](int64_t place) { return at(place); });
  }
  /// The same with an element's bits, for comparisons.
  template <class Call>
  auto read_bits_by(Call&& call) const {
    if (const float* values = floats()) {
      return call(
          [values](int64_t place) { return uint64_t{read<uint32_t>(reinterpret_cast<const char*>(values + place))}; });
    }
    return call([this](int64_t place) { return bits(place); });
  }
  uint64_t bits(int64_t place) const {
    const char* element = bytes_at(offset_of(place));
    switch (tensor()->dtype_bits) {
      case 64:
        return read<uint64_t>(element);
      case 32:
        return read<uint32_t>(element);
      case 16:
        return read<uint16_t>(element);
      default:
        return read<uint8_t>(element);
    }
  }
  /// Hashes the bits of at most `most` elements.
  uint64_t hash(int64_t most) const {
    auto hash = static_cast<uint64_t>(count());
    read_bits_by([&](const auto& bits) { sample(most, [&](int64_t place) { hash = mixed(hash, bits(place)); }); });
    return hash;
  }
  /// The mean square of some elements; NaN if they cannot be read.
  double mean_square() const {
    constexpr int64_t most = 128;
    if (!readable()) return NAN;
    double sum = 0;
    read_by([&](const auto& at) { sample(most, [&](int64_t place) { sum += at(place) * at(place); }); });
    return sum / static_cast<double>(std::min(most, count()));
  }
  /// Whether one stored row represents all, as after expand().
  bool repeats_first_row() const { return dim() > 0 && tensor()->strides[0] == 0; }
  /// Whether there are several elements, all equal, bit for bit. Compares a few first.
  bool are_constant() const {
    constexpr int64_t some = 16;
    return count() > 1 && read_bits_by([&](const auto& bits) {
             const uint64_t first = bits(0);
             bool same = true;
             sample(some, [&](int64_t place) { same = same && bits(place) == first; });
             for (int64_t place = 1; same && place < count(); ++place) same = bits(place) == first;
             return same;
           });
  }
  /// Whether all elements can be read quickly.
  bool is_quick() const { return floats() != nullptr; }
  /// Sets `found` to 1 for each column with a value above 0, in the rows of `columns` elements from `first` to before
  /// `last`; only if is_quick().
  void find_positive(int64_t columns, int64_t first, int64_t last, uint8_t* found) const {
    // This many columns stay in registers for all rows.
    constexpr int64_t together = 16;
    int64_t column = 0;
    for (; column + together <= columns; column += together) {
      std::array<int32_t, together> any{};
      for (int64_t row = first; row < last; ++row) {
        const float* values = floats() + row * columns + column;
        for (std::size_t c = 0; c < together; ++c) any[c] |= values[c] > 0 ? -1 : 0;
      }
      for (std::size_t c = 0; c < together; ++c)
        found[column + static_cast<int64_t>(c)] |= static_cast<uint8_t>(any[c] & 1);
    }
    for (; column < columns; ++column) {
      for (int64_t row = first; row < last && found[column] == 0; ++row)
        found[column] = floats()[row * columns + column] > 0 ? 1 : 0;
    }
  }
  /// The extent of all elements; empty if they cannot be read.
  Extent extent() const {
    Extent extent;
    if (!readable()) return extent;
    if (const float* values = floats()) {
      // Magnitudes compare like their bits, with NaN and Inf above all others.
      constexpr int32_t infinity = 0x7f800000;
      int32_t largest = 0;
      for (int64_t i = 0; i < count(); ++i) {
        int32_t magnitude = 0;
        std::memcpy(&magnitude, values + i, sizeof magnitude);
        largest = std::max(largest, magnitude & 0x7fffffff);
      }
      if (largest < infinity) {
        extent.largest = read<float>(reinterpret_cast<const char*>(&largest));
        return extent;
      }
    }
    for (int64_t place = 0; place < count(); ++place) {
      const double value = at(place);
      if (std::isnan(value)) ++extent.nan_count;
      if (std::isinf(value)) ++extent.inf_count;
      if (std::isfinite(value)) extent.largest = std::max(extent.largest, std::abs(value));
    }
    return extent;
  }
  /// The place of NaN and Inf, as ", in row 3 of 32 (from 0)", and the column if it is a single one; "" if none or all
  /// elements are affected.
  std::string place_of_non_finite() const {
    if (!readable() || dim() == 0 || count() == 0 || size(0) == 0) return "";
    const int64_t columns = count() / size(0);
    std::vector<int64_t> rows;
    int64_t total = 0, column = -1;
    bool is_one_column = columns > 1;
    for (int64_t row = 0; row < size(0); ++row) {
      const int64_t before = total;
      for (int64_t c = 0; c < columns; ++c) {
        if (std::isfinite(at(row * columns + c))) continue;
        ++total;
        if (column < 0) column = c;
        is_one_column = is_one_column && c == column;
      }
      if (total > before) rows.push_back(row);
    }
    if (total == 0 || (total == count() && size(0) > 1)) return "";
    if (size(0) == 1) return total == count() ? ", the whole of a batch of one row" : "";
    const std::string of_one = ", in column " + std::to_string(column) + " of " + std::to_string(columns);
    return (is_one_column ? of_one : "") + ", " + rows_text(rows, size(0));
  }
  /// The number of rows of the last dimension that a mask hides completely: all -Inf, or all true in a boolean mask. 0
  /// if there is another non-finite number.
  int64_t masked_rows() const {
    if (!readable() || dim() == 0 || count() == 0) return 0;
    const int64_t width = size(dim() - 1);
    int64_t masked = 0;
    for (int64_t first = 0; first < count(); first += width) {
      int64_t hidden = 0;
      for (int64_t i = 0; i < width; ++i) {
        const double value = at(first + i);
        if (std::isnan(value) || value == INFINITY) return 0;
        hidden += std::isinf(value) || (!floating() && value != 0) ? 1 : 0;
      }
      masked += hidden == width ? 1 : 0;
    }
    return masked;
  }
  /// Calls `call` with the positions of at most `most` elements, one in each of as many equal parts of the tensor.
  /// Their distances have no period, because data may be periodic, like the rows of a picture.
  template <class Call>
  void sample(int64_t most, Call&& call) const {
    if (count() <= most) {
      for (int64_t place = 0; place < count(); ++place) call(place);
      return;
    }
    for (int64_t i = 0; i < most; ++i) call(scattered_place(i, most, count()));
  }
};

/// Hashes of some rows of an input: a quick one of a few elements, and one of more elements if that decides.
class HashedRows {
 public:
  explicit HashedRows(const Elements& input, int64_t most_rows = 256)
      : input_(input),
        columns_(input.count() / input.size(0)),
        rows_(std::min(most_rows, input.size(0))),
        few_(std::min(columns_, most_few)) {
    for (int64_t i = 0; i < few_; ++i) few_places_[static_cast<std::size_t>(i)] = scattered_place(i, few_, columns_);
  }

  static bool fits(const Elements& input, int64_t fewest_columns = 8) {
    return input.readable() && input.floating() && input.dim() >= 2 && input.size(0) > 1 &&
           input.count() / input.size(0) >= fewest_columns;
  }
  int64_t rows() const { return rows_; }
  /// 0 for a row of whole numbers, which may repeat.
  uint64_t quick(int64_t row) const {
    const auto place = [&](int64_t i) { return row * columns_ + few_places_[static_cast<std::size_t>(i)]; };
    const bool is_discrete = input_.read_by([&](const auto& at) {
      for (int64_t i = 0; i < few_; ++i)
        if (const double value = at(place(i)); value != std::floor(value)) return false;
      return true;
    });
    return is_discrete ? 0 : std::max<uint64_t>(hash_of(few_, place), 1);
  }
  uint64_t whole(int64_t row) const {
    const int64_t count = std::min(columns_, most_many);
    return hash_of(count, [&](int64_t i) {
      return row * columns_ + (count == columns_ ? i : scattered_place(i, count, columns_));
    });
  }

 private:
  static constexpr int64_t most_few = 16, most_many = 256;

  template <class Place>
  uint64_t hash_of(int64_t count, const Place& place) const {
    return input_.read_bits_by([&](const auto& bits) {
      uint64_t hash = 0;
      for (int64_t i = 0; i < count; ++i) hash = mixed(hash, bits(place(i)));
      // The order of the hashes decides which rows are kept, so all bits must be mixed.
      hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93;
      return hash ^ hash >> 32;
    });
  }

  const Elements& input_;
  int64_t columns_, rows_;
  int64_t few_;                                    // elements that a quick look at a row reads
  std::array<int64_t, most_few> few_places_ = {};  // their columns
};

}  // namespace loupe::health
