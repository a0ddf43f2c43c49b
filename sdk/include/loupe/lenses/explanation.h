#pragma once

#include <loupe/layers.h>
#include <loupe/report.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// What a plot means, for people who see it for the first time, each a sentence or two: what it is, with its formula;
/// what is healthy; what to do when it is not.
struct Explanation {
  std::string description = {}, healthy = {}, advice = {};
};

/// The style with those words.
inline TagStyle explained(TagStyle style, const Explanation& words) {
  style.description = words.description;
  style.healthy = words.healthy;
  style.advice = words.advice;
  return style;
}

/// Of a plot in which each layer has a share. @param what such as "output norm"
inline Explanation share_explained(const std::string& what) {
  return {
      "Each layer's " + what + " as a share of the sum over all layers; the shares add up to 1.",
      "The shares settle after the first epochs, and no layer takes nearly all.",
      "A share that grows towards 1 is of a layer that runs away: look at its own plot, and lower the learning rate "
      "or normalize."};
}

/// The sentence that a norm's description ends with where it is divided by its size.
inline std::string size_explained(bool normalized) {
  return normalized ? " Divided by the square root of the number of elements, so that layers of different size compare."
                    : "";
}

/// One plot for the model in which each layer's number is a share of all layers' sum.
class Comparison {
 public:
  /// @param what the number of a layer is, such as "output norm"
  static void introduce(Report& report, const std::string& tag, const std::string& what = "number") {
    TagStyle style;
    style.type = LOUPE_SCALE_RELATION;
    style.big = true;
    report.tag(tag, explained(style, share_explained(what)));
  }

  /// Shares that sum to 1, or are all 0 where there is nothing to share out. Layers without a finite number are left
  /// out.
  static void write(Report& report, const std::string& tag, const Layers& layers, const std::string& series,
                    Aggregate aggregation) {
    std::vector<std::pair<std::string, double>> numbers;
    double sum = 0;
    for (const Layer& layer : layers) {
      const auto number = layer.source.get(series, aggregation);
      if (!number || !std::isfinite(*number)) continue;
      numbers.emplace_back(layer.name, *number);
      sum += *number;
    }
    Report::Row row(report);
    for (const auto& [layer, number] : numbers) row.value(layer, sum > 0 ? number / sum : 0);
    row.tell(tag);
  }
};

}  // namespace v1_0
}  // namespace loupe
