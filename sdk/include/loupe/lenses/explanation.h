#pragma once

#include <loupe/layers.h>
#include <loupe/report.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// Explains a plot to people who see it for the first time, in one or two sentences each: what it is, with its formula;
/// what is healthy; what to do if it is not.
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

/// Explains a plot in which each layer has a share. @param what for example "output norm"
inline Explanation share_explained(const std::string& what) {
  return {
      "Each layer's " + what + " as a share of the sum over all layers; the shares add up to 1.",
      "The shares settle after the first epochs, and no layer takes nearly all.",
      "If one share grows towards 1, that layer diverges: see its own plot, and lower the learning rate or normalize."};
}

/// The last sentence of the description of a norm that is divided by its size.
inline std::string size_explained(bool normalized) {
  return normalized ? " It is divided by the square root of the number of elements, so layers of different size are "
                      "comparable."
                    : "";
}

/// One plot for the model in which each layer's number is a share of all layers' sum.
class Comparison {
 public:
  /// @param what the number of a layer, for example "output norm"
  static void introduce(Report& report, const std::string& tag, const std::string& what = "number") {
    TagStyle style;
    style.type = LOUPE_SCALE_RELATION;
    style.big = true;
    report.tag(tag, explained(style, share_explained(what)));
  }

  /// Writes shares that sum to 1, or all 0 if the sum is 0. Layers without a finite number are left out.
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
