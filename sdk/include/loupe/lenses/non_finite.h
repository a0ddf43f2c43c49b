#ifndef LOUPE_LENSES_NON_FINITE_H
#define LOUPE_LENSES_NON_FINITE_H

#include <loupe/lens.h>
#include <loupe/lenses/explanation.h>

#include <string>

namespace loupe {

/// Names what was NaN or infinite and so is in no average: a plot a layer, with the number of such events.
class NonFinite {
 public:
  /// For Lens::introduce: the plot is told only once there was something to show in it.
  void introduce(Report& report) const {
    if (seen_) report.tag(tag, style());
  }

  /// @param what the plot that lacks these events, such as "Weight Gradient Norm"
  void write(Report& report, const std::string& what, const std::string& layer, const Source& source,
             const std::string& series) {
    if (const auto found = source.index_of(series)) write(report, what, layer, source, *found);
  }
  /// The same of a series by its place.
  void write(Report& report, const std::string& what, const std::string& layer, const Source& source,
             std::size_t series) {
    write(report, layer, what, " NaN", source.get(series, LOUPE_AGGREGATE_NAN_COUNT).value_or(0));
    write(report, layer, what, " Inf", source.get(series, LOUPE_AGGREGATE_INF_COUNT).value_or(0));
  }

 private:
  static constexpr const char* tag = "Non-Finite Values";

  static TagStyle style() {
    TagStyle style;
    style.shared = true;  // each lens counts what its own plots lack
    return explained(
        style, {"How many events of an epoch, such as steps or batches, held NaN or infinity, by layer and by the "
                "plot that lacks them: they are in no average.",
                "This plot is not there at all.",
                "The layer in which it came first has the cause nearby, and the lens health names it: a division "
                "by 0, the logarithm of 0, an overflow of half precision, too large a learning rate, or a broken "
                "input."});
  }

  void write(Report& report, const std::string& layer, const std::string& what, const char* kind, double count) {
    if (count == 0) return;
    if (!seen_) report.tag(tag, style());
    seen_ = true;
    report.value(tag, layer, what + kind, count);
  }

  bool seen_ = false;
};

}  // namespace loupe

#endif
