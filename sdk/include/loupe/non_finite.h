#ifndef LOUPE_NON_FINITE_H
#define LOUPE_NON_FINITE_H

#include <loupe/plugin.h>

#include <string>

namespace loupe {

/// Names what was NaN or infinite and so is in no average: a plot a layer, with the number of such events.
class NonFinite {
 public:
  /// For Lens::introduce: the plot is told only once there was something to show in it.
  void introduce(Report& report) const {
    if (seen_) report.tag(tag, TagStyle());
  }

  /// @param what the plot that lacks these events, such as "Weight Gradient Norm"
  void write(Report& report, const std::string& what, const std::string& layer, const Source& source,
             const std::string& series) {
    if (const auto found = source.index_of(series)) write(report, what, layer, source, *found);
  }
  /// The same of a series by its place.
  void write(Report& report, const std::string& what, const std::string& layer, const Source& source,
             std::size_t series) {
    write(report, layer, what + " NaN", source.get(series, LOUPE_NAN_COUNT).value_or(0));
    write(report, layer, what + " Inf", source.get(series, LOUPE_INF_COUNT).value_or(0));
  }

 private:
  static constexpr const char* tag = "Non-Finite Values";

  void write(Report& report, const std::string& layer, const std::string& line, double count) {
    if (count == 0) return;
    if (!seen_) report.tag(tag, TagStyle());
    seen_ = true;
    report.value(tag, layer, line, count);
  }

  bool seen_ = false;
};

}  // namespace loupe

#endif
