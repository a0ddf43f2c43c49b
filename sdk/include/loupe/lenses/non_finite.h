#pragma once

#include <loupe/lens.h>
#include <loupe/lenses/explanation.h>

#include <cstdint>
#include <string>
#include <utility>

namespace loupe {
inline namespace v1_0 {

/// Names what was NaN or infinite and so is in no average: a plot a layer, with the number of such events.
class NonFinite {
 public:
  /// The plot is told once there is something to show in it.
  /// @param what  the plot that lacks these events, such as "Weight Gradient Norm"
  void write(Report& report, const std::string& what, const std::string& layer, const SeriesNumbers& numbers) {
    write(report, layer, what, " NaN", numbers.nan_count());
    write(report, layer, what, " Inf", numbers.inf_count());
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

  void write(Report& report, const std::string& layer, const std::string& what, const char* kind, uint64_t count) {
    if (count == 0) return;
    if (!std::exchange(is_told_, true)) report.tag(tag, style());
    report.value(tag, layer, what + kind, static_cast<double>(count));
  }

  bool is_told_ = false;
};

}  // namespace v1_0
}  // namespace loupe
