#ifndef LOUPE_PLUGINS_HEALTH_RULES_DISTINCT_ROWS_H
#define LOUPE_PLUGINS_HEALTH_RULES_DISTINCT_ROWS_H

#include <algorithm>
#include <array>
#include <cstdint>

namespace loupe::health {

/// The different rows that a model's inputs had, as far as hashes of some of their elements tell.
struct DistinctRows {
  static constexpr int64_t fewest_in_batch = 16;
  std::array<uint64_t, 33> hashes{};
  std::size_t count = 0;
  int64_t seen = 0, smallest_batch = 0;
  uint32_t looks = 0;
  /// There are more than can be few, or rows of whole numbers, as states and words are, which come again by nature.
  bool is_many = false;

  void take(uint64_t hash, bool is_discrete) {
    ++seen;
    const auto end = hashes.begin() + static_cast<std::ptrdiff_t>(count);
    if (is_discrete || (std::find(hashes.begin(), end, hash) == end && count == hashes.size())) {
      is_many = true;
    } else if (std::find(hashes.begin(), end, hash) == end) {
      hashes[count++] = hash;
    }
  }
  /// Whether each batch must hold rows several times over.
  bool are_few() const {
    constexpr uint32_t enough_looks = 8;
    return !is_many && looks >= enough_looks && count > 1 && 2 * static_cast<int64_t>(count) <= smallest_batch;
  }
};

}  // namespace loupe::health

#endif
