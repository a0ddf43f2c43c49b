#include "console/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace loupe::console {
namespace {

constexpr std::array<const char*, 8> blocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// How high each value stands, from 0 to 1; NaN for one that is not finite.
std::vector<double> heights(const std::vector<double>& values, Scale scale) {
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
  std::vector<double> shares;
  for (const double value : values) {
    // Halves, for the difference of two large numbers may overflow.
    const double share = high > low ? (height(value) / 2 - low / 2) / (high / 2 - low / 2) : 0;
    shares.push_back(std::isfinite(value) ? share : NAN);
  }
  return shares;
}

std::size_t eighths(double share, std::size_t rows) {
  const std::size_t count = blocks.size() * rows;
  return std::min(static_cast<std::size_t>(share * static_cast<double>(count)), count - 1) + 1;
}

}  // namespace

std::string sparkline(const std::vector<double>& values, Scale scale) {
  std::string line;
  for (const double share : heights(values, scale)) line += std::isnan(share) ? "×" : blocks[eighths(share, 1) - 1];
  return line;
}

std::vector<std::string> curve(const std::vector<double>& values, Scale scale, std::size_t width, std::size_t rows) {
  const std::vector<double> shares = heights(values, scale);
  std::vector<std::string> lines(rows);
  for (std::size_t column = 0; column < width && !shares.empty(); ++column) {
    const double share = shares[column * shares.size() / width];
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t below = (rows - 1 - row) * blocks.size();
      if (std::isnan(share)) {
        lines[row] += row + 1 == rows ? "×" : " ";
      } else {
        const std::size_t filled = eighths(share, rows);
        lines[row] += filled <= below ? " " : blocks[std::min(filled - below, blocks.size()) - 1];
      }
    }
  }
  return lines;
}

}  // namespace loupe::console
