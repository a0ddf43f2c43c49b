#include "view/small_curve.h"

#include <algorithm>
#include <cmath>

namespace loupe::view {
namespace {

double joined(double a, double b) {
  if (!std::isfinite(a)) return a;
  return std::isfinite(b) ? std::max(a, b) : b;
}

}  // namespace

void SmallCurve::take(double epoch, double value) {
  while (!points_.empty() && points_.back().first_epoch >= epoch) points_.pop_back();
  latest_ = value;
  if (!points_.empty() && points_.back().count < stride_) {
    points_.back().value = joined(points_.back().value, value);
    ++points_.back().count;
    return;
  }
  if (points_.size() == most_points) join();
  points_.push_back({epoch, value, 1});
}

void SmallCurve::join() {
  for (std::size_t i = 0; i + 1 < points_.size(); i += 2) {
    const Point &left = points_[i], &right = points_[i + 1];
    points_[i / 2] = {left.first_epoch, joined(left.value, right.value), left.count + right.count};
  }
  points_.resize(points_.size() / 2);
  stride_ *= 2;
}

std::vector<double> SmallCurve::values() const {
  std::vector<double> values;
  for (const Point& each : points_) values.push_back(each.value);
  // A point of several epochs must not hide where the run stands now.
  if (!points_.empty() && points_.back().count > 1) values.push_back(latest_);
  return values;
}

}  // namespace loupe::view
