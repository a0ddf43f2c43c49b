#pragma once

#include <loupe/layers.h>
#include <loupe/lenses/explanation.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

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
