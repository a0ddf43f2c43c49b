#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace loupe::console {

enum class Scale {
  data,         ///< from the least to the largest value
  logarithmic,  ///< the same of the logarithms, where all values are positive
  unit          ///< from 0 to 1
};

/// One block a value, higher for larger; "×" for one that is not finite.
std::string sparkline(const std::vector<double>& values, Scale scale);
/// The same over several rows, the highest first; a value takes several columns where there are fewer than `width`.
std::vector<std::string> curve(const std::vector<double>& values, Scale scale, std::size_t width, std::size_t rows);

}  // namespace loupe::console
