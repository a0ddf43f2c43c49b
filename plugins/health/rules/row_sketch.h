#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace loupe::health {

/// Hashes of some of a data set's rows, always the smallest ones: two such sketches keep the same ones of their common
/// rows, for any number of rows.
class RowSketch {
 public:
  /// `quick` decides whether a row belongs here; `whole` is called only then. Returns whether the row was here before.
  template <class Whole>
  bool take(uint64_t quick, Whole&& whole) {
    if (!is_among(quick)) return false;
    const Row row{quick, whole()};
    const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(count_);
    const auto at = std::lower_bound(rows_.begin(), end, row, is_less);
    if (at != end && at->quick == quick) return at->whole == row.whole;
    if (count_ < most) ++count_;
    std::move_backward(at, rows_.begin() + static_cast<std::ptrdiff_t>(count_) - 1,
                       rows_.begin() + static_cast<std::ptrdiff_t>(count_));
    *at = row;
    return false;
  }
  /// Whether a row with this hash would be here.
  bool is_among(uint64_t quick) const { return count_ < most || quick <= rows_[count_ - 1].quick; }
  template <class Whole>
  bool has(uint64_t quick, Whole&& whole) const {
    const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(count_);
    const auto at = std::lower_bound(rows_.begin(), end, Row{quick, 0}, is_less);
    return at != end && at->quick == quick && at->whole == whole();
  }
  std::size_t count() const { return count_; }
  /// An estimate of the number of different rows.
  double rows() const {
    if (count_ < most) return static_cast<double>(count_);
    return static_cast<double>(count_ - 1) / std::ldexp(static_cast<double>(rows_[count_ - 1].quick), -64);
  }

 private:
  struct Row {
    uint64_t quick = 0, whole = 0;
  };
  static bool is_less(const Row& a, const Row& b) { return a.quick < b.quick; }
  static constexpr std::size_t most = 512;
  std::array<Row, most> rows_{};
  std::size_t count_ = 0;
};

/// The rows that a model was trained on, and the number of validation rows among them. Only for inputs whose rows are
/// samples, and without rows of whole numbers, which naturally repeat.
struct SharedRows {
  RowSketch training;
  bool is_off = false;       ///< rows naturally repeat, or never do, or there is no validation
  bool is_complete = false;  ///< nearly all training rows are known

  int64_t first_seen = 0, first_again = 0;  ///< rows of the first epoch, and repeated ones among them
  // Since the last tick, for rows that the sketch would keep.
  int64_t trained = 0, known = 0;       ///< training rows, and known ones among them
  int64_t compared = 0, shared = 0;     ///< validation rows, and known ones among them
  int64_t mixed = 0, mixed_shared = 0;  ///< the same for batches with both kinds
  int64_t mixed_rows = 0;               ///< all rows of these batches
  bool was_validated = false;           ///< ever

  /// Takes a validation batch.
  void take_batch(int64_t rows, int64_t compared_rows, int64_t shared_rows) {
    was_validated = true;
    compared += compared_rows;
    shared += shared_rows;
    if (shared_rows == 0 || shared_rows == compared_rows) return;
    mixed += compared_rows;
    mixed_shared += shared_rows;
    mixed_rows += rows;
  }
  /// Whether nearly all training rows were seen before.
  bool knows_training() const {
    constexpr int64_t enough = 32, nearly_all = 20;
    return is_complete || (trained >= enough && nearly_all * (trained - known) <= trained);
  }
  void end_epoch(uint64_t ticks) {
    constexpr int64_t often = 50, hardly_any = 20;
    constexpr uint64_t ticks_enough = 3;
    is_off = is_off || first_again * often > first_seen || (ticks > 1 && !was_validated);
    // Random augmentation makes rows unique.
    is_off = is_off || (ticks >= ticks_enough && !is_complete && known * hardly_any < trained);
    is_complete = knows_training();
    trained = known = compared = shared = mixed = mixed_shared = mixed_rows = 0;
  }
};

}  // namespace loupe::health
