#include "console/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace loupe::console {

std::string sparkline(const std::vector<double>& values, Scale scale) {
  static constexpr std::array<const char*, 8> blocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const bool positive =
      std::all_of(values.begin(), values.end(), [](double value) { return value > 0 || !std::isfinite(value); });
  const bool logarithmic = scale == Scale::logarithmic && positive;
  const auto height = [&](double value) { return logarithmic ? std::log(value) : value; };

  double low = scale == Scale::unit ? 0 : INFINITY;
  double high = scale == Scale::unit ? 1 : -INFINITY;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, height(value));
    high = std::max(high, height(value));
  }
  std::string line;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      line += "×";
      continue;
    }
    // Halves, for the difference of two large numbers may overflow.
    const double share = high > low ? (height(value) / 2 - low / 2) / (high / 2 - low / 2) : 0;
    const auto block = static_cast<std::size_t>(share * static_cast<double>(blocks.size()));
    line += blocks[std::min(block, blocks.size() - 1)];
  }
  return line;
}

}  // namespace loupe::console
