#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace loupe::health {

class Elements;
struct Layer;

/// How far the rows of a tensor differ, relative to their size: for some rows and columns, over some measurements.
struct RowSpread {
  double variance = 0;  ///< over the rows, as the mean of the columns
  double squares = 0;
  int64_t looks = 0;

  /// Zero if there are too few rows or columns, or they are not finite.
  static RowSpread of(const Elements& elements);
  void add(const RowSpread& other) {
    variance += other.variance;
    squares += other.squares;
    looks += other.looks;
  }
  /// 1 for rows that have nothing in common, 0 for equal rows, also 0 if nothing was measured.
  double share() const { return squares > 0 ? variance / squares : 0; }
  double mean_variance() const { return looks > 0 ? variance / static_cast<double>(looks) : 0; }
};

/// Shows whether a layer's output is nearly the same for all samples, although these differ. Under its model's mutex.
struct Alikeness {
  /// The spread of the model's output in the first steps, and over the window.
  RowSpread at_start, now;
  uint64_t ran_at = 0;      ///< Model::step_now when it last ran with gradients
  bool runs_again = false;  ///< more than once in a step, as with two views of each sample
  // Over the window: whether runs of one step clearly differ in their first rows, as if each run had one class.
  bool runs_differ = false;
  std::array<double, 16> first_row{};  ///< some of the last run's first row
  /// Compares the first row of this run with that of the run before.
  void take_first_row(const Elements& output, bool is_same_step);

  /// Two layers with the same input and outputs of one shape, from which a third layer's input of that shape is
  /// computed: the mean and the variance of a code. Kept by the second.
  struct Code {
    Layer* other = nullptr;
    double squares = 0, other_squares = 0;  ///< sums, over the measured steps, of mean squares
    int64_t looks = 0, columns = 0;
    double mean_squares() const { return squares / static_cast<double>(looks); }
    double other_mean_squares() const { return other_squares / static_cast<double>(looks); }
    /// An upper bound of a sample's divergence from a normal distribution, while both outputs are near 0.
    double divergence() const { return 0.5 * static_cast<double>(columns) * (mean_squares() + other_mean_squares()); }
  } code;

  /// The rows of an embedding that a layer's output chose, over the window.
  struct Choice {
    static constexpr std::size_t most = 4;
    std::array<int64_t, most> rows{};
    std::size_t count = 0;
    int64_t seen = 0, looks = 0;
    bool are_more = false;
    void take(int64_t row) {
      ++seen;
      for (std::size_t i = 0; i < count; ++i) {
        if (rows[i] == row) return;
      }
      if (count == most) {
        are_more = true;
      } else {
        rows[count++] = row;
      }
    }
  } choice;

  /// The answers of a softmax over the columns.
  struct Answers {
    double entropy = 0;  ///< summed over rows, as a share of the entropy of equal chances
    int64_t rows = 0, classes = 0;
    int64_t answer = -1;  ///< the most likely column of all rows
    bool differ = false;
    double mean_entropy() const { return entropy / static_cast<double>(rows); }
    void take(double entropy_of_row, int64_t likeliest) {
      entropy += entropy_of_row;
      differ = differ || (answer >= 0 && answer != likeliest);
      answer = likeliest;
      ++rows;
    }
  } answers_at_start, answers;

  void next_window() {
    now = {};
    runs_differ = false;
    code.squares = code.other_squares = 0;
    code.looks = 0;
    choice = {};
    answers = {};
  }
};

}  // namespace loupe::health
