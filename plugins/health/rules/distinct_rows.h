#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace loupe::health {

/// The different rows that a model's inputs had.
struct DistinctRows {
  static constexpr int64_t fewest_in_batch = 16;
  struct Row {
    uint64_t some = 0, all = 0;  ///< hashes of some of its elements, and of all
  };
  std::array<Row, 33> rows{};
  std::size_t count = 0;
  int64_t seen = 0, smallest_batch = 0;
  uint32_t looks = 0;
  bool are_samples = false;  ///< as the targets say, of which there was one for each
  /// There are more than can be few, or rows of whole numbers, as states and words are, which come again by nature.
  bool is_many = false;

  /// @param all  calculates the hash of all elements, which is asked for only where those of some are not enough
  template <class All>
  void take(uint64_t some, bool is_discrete, All&& all) {
    ++seen;
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(count);
    const auto known = std::find_if(rows.begin(), end, [&](const Row& each) { return each.some == some; });
    if (known != end) {
      is_many = is_many || is_discrete || all() != known->all;
    } else if (is_discrete || count == rows.size()) {
      is_many = true;
    } else {
      rows[count++] = {some, all()};
    }
  }
  /// Whether each batch must hold rows several times over.
  bool are_few() const {
    constexpr uint32_t enough_looks = 8;
    return are_samples && !is_many && looks >= enough_looks && count > 1 &&
           2 * static_cast<int64_t>(count) <= smallest_batch;
  }
};

}  // namespace loupe::health
