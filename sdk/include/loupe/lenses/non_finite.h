#pragma once

#include <loupe/lens.h>
#include <loupe/lenses/explanation.h>

#include <cstdint>
#include <string>
#include <utility>

namespace loupe {
inline namespace v1_0 {

/// Reports events that were NaN or infinite and so are in no average: one plot for each layer, with their number.
class NonFinite {
 public:
  /// Reports the plot only once it has something to show.
  /// @param what  the plot that lacks these events, for example "Weight Gradient Norm"
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
        style,
        {"The number of events of an epoch, such as steps or batches, with NaN or infinity, by layer and by the "
         "plot that lacks them: they are in no average.",
         "This plot does not appear at all.",
         "The cause is near the layer in which it came first, and the lens health names it: a division by 0, the "
         "logarithm of 0, an overflow of half precision, too large a learning rate, or a broken "
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
