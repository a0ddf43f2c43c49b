#pragma once

#include <loupe/options.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace loupe {

/// A value before and after a forward, made into one number.
class Difference {
 public:
  using Values = std::optional<std::vector<double>>;  ///< empty where the module had none

  static std::vector<Option> options() {
    return {{"filter",
             "any",
             "which forwards count: with a value before or after, with both, or where it changed",
             {"any", "both", "changed"}},
            {"op",
             "subtract",
             "how after and before are compared, element by element",
             {"subtract", "ratio", "absolute", "squared"}},
            {"map", "norm", "how the elements become one number", {"norm", "mean", "max"}}};
  }

  explicit Difference(const Options& options)
      : filter_(options.get<std::string>("filter")),
        op_(options.get<std::string>("op")),
        map_(options.get<std::string>("map")) {}

  /// Nullopt when the forward does not count, or there are no elements. A missing side counts as zeros; of two
  /// different lengths there is no difference. 0 / 0 is a ratio of 1: nothing changed.
  std::optional<double> between(const Values& after, const Values& before) const {
    if (!after && !before) return std::nullopt;
    if (filter_ == "both" && (!after || !before)) return std::nullopt;
    const std::size_t size = after ? after->size() : before->size();
    if (size == 0 || (after && before && after->size() != before->size())) return std::nullopt;
    double sum = 0, most = -INFINITY;
    bool changed = false;
    for (std::size_t i = 0; i < size; ++i) {
      const double a = after ? (*after)[i] : 0, b = before ? (*before)[i] : 0;
      changed = changed || a != b;
      const double element = compare(a, b);
      sum += map_ == "norm" ? element * element : element;
      // A NaN is the most there can be, so that it is not lost.
      if (element > most || std::isnan(element)) most = std::isnan(most) ? most : element;
    }
    if (filter_ == "changed" && !changed) return std::nullopt;
    if (map_ == "max") return most;
    return map_ == "norm" ? std::sqrt(sum) : sum / static_cast<double>(size);
  }

 private:
  double compare(double after, double before) const {
    if (op_ == "ratio") return after == before ? 1 : after / before;
    if (op_ == "absolute") return std::abs(after - before);
    if (op_ == "squared") return (after - before) * (after - before);
    return after - before;
  }

  std::string filter_, op_, map_;
};

}  // namespace loupe
