#pragma once

#include <cstddef>
#include <vector>

namespace loupe::view {

/// A line of numbers at the size of a word, in bounded memory however long the run is: neighbours are joined into the
/// highest of them, and one that is not finite stays. One thread.
class SmallCurve {
 public:
  static constexpr std::size_t most_points = 64;

  /// A repeated epoch, as in a resumed run, discards later points.
  void take(double epoch, double value);
  /// The joined values in their order; the last is the latest as it was told.
  std::vector<double> values() const;

 private:
  struct Point {
    double first_epoch, value;
    std::size_t count;  // of epochs
  };

  void join();

  std::vector<Point> points_;
  std::size_t stride_ = 1;  // epochs to a point
  double latest_ = 0;
};

}  // namespace loupe::view
