#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace loupe::health {

/// Some of a data set's rows by their hashes, always the smallest: two such sets hold the same of the rows that they
/// have in common, however many rows there are.
class RowSketch {
 public:
  /// `quick` decides whether a row belongs here; `whole` is asked for only then. Returns whether it was here before.
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
  /// An estimate of how many different rows were taken.
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

/// Which rows a model was trained on, and how many of those that it was validated on are among them. Of inputs whose
/// rows are samples, and no row of whole numbers, which repeat by nature.
struct SharedRows {
  RowSketch training;
  bool is_off = false;       ///< rows repeat by nature or never, or nothing is validated
  bool is_complete = false;  ///< nearly all rows of the training are known

  int64_t first_seen = 0, first_again = 0;  ///< rows of the first epoch, and those that were in it before
  // Since the last tick, of the rows that the sketch would hold.
  int64_t trained = 0, known = 0;       ///< in training, and those of them that it held
  int64_t compared = 0, shared = 0;     ///< in validation
  int64_t mixed = 0, mixed_shared = 0;  ///< of batches with both kinds
  int64_t mixed_rows = 0;               ///< all rows of these batches
  bool was_validated = false;           ///< ever

  /// A batch of validation.
  void take_batch(int64_t rows, int64_t compared_rows, int64_t shared_rows) {
    was_validated = true;
    compared += compared_rows;
    shared += shared_rows;
    if (shared_rows == 0 || shared_rows == compared_rows) return;
    mixed += compared_rows;
    mixed_shared += shared_rows;
    mixed_rows += rows;
  }
  /// Whether nearly all rows that are trained on were seen before.
  bool knows_training() const {
    constexpr int64_t enough = 32, nearly_all = 20;
    return is_complete || (trained >= enough && nearly_all * (trained - known) <= trained);
  }
  void end_epoch(uint64_t ticks) {
    constexpr int64_t often = 50, hardly_any = 20;
    constexpr uint64_t ticks_enough = 3;
    is_off = is_off || first_again * often > first_seen || (ticks > 1 && !was_validated);
    // As where samples are changed at random.
    is_off = is_off || (ticks >= ticks_enough && !is_complete && known * hardly_any < trained);
    is_complete = knows_training();
    trained = known = compared = shared = mixed = mixed_shared = mixed_rows = 0;
  }
};

}  // namespace loupe::health
