#include "port/forms.h"

#include <loupe/files/fingerprint.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "port/numbers.h"

namespace loupe::port {
namespace {

bool is_mask(const Tensor& tensor) {
  if (tensor.dtype == "bool") return true;
  return tensor.sum_squares == 0 && std::all_of(tensor.values.begin(), tensor.values.end(),
                                                [](double value) { return value == 0 || value == -infinity; });
}

/// How many elements a mask hides.
double hidden(const Tensor& mask) {
  return mask.dtype == "bool" ? mask.sum : static_cast<double>(mask.non_finite);
}

template <class Hidden>
bool compare_masks(const Tensor& a, const Tensor& b, Hidden&& fits) {
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (!fits(a.values[i] != 0, b.values[i] != 0)) return false;
  }
  return true;
}

using Bytes = std::vector<unsigned char>;

template <class T>
Bytes bytes_of(const std::vector<double>& values) {
  Bytes bytes;
  for (const double value : values) {
    const auto limit = std::ldexp(1.0, 8 * sizeof(T) - 1);
    // What the type cannot hold was not written as it.
    if (std::is_integral_v<T> && (!(std::abs(value) < limit) || value != std::nearbyint(value))) return {};
    const T number = static_cast<T>(value);
    unsigned char own[sizeof number];
    std::memcpy(own, &number, sizeof number);
    bytes.insert(bytes.end(), own, own + sizeof number);
  }
  return bytes;
}

template <class T>
std::vector<double> read_bytes(const Bytes& bytes) {
  std::vector<double> values;
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    values.push_back(static_cast<double>(number));
  }
  return values;
}

struct FileType {
  const char* name;
  Bytes (*write)(const std::vector<double>&);
  std::vector<double> (*read)(const Bytes&);
};
const FileType file_types[] = {{"float32", bytes_of<float>, read_bytes<float>},
                               {"float64", bytes_of<double>, read_bytes<double>},
                               {"int32", bytes_of<int32_t>, read_bytes<int32_t>},
                               {"int64", bytes_of<int64_t>, read_bytes<int64_t>}};

/// The first elements, as long as all are known.
std::vector<double> beginning(const Tensor& tensor) {
  const std::vector<int64_t> positions = fingerprint_positions(tensor.shape);
  std::vector<double> known;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto next = std::find(positions.begin(), positions.end(), static_cast<int64_t>(i));
    if (next == positions.end()) break;
    known.push_back(tensor.values[static_cast<std::size_t>(next - positions.begin())]);
  }
  return known;
}

}  // namespace

bool are_same_mask(const Tensor& a, const Tensor& b) {
  return a.shape == b.shape && a.dtype != b.dtype && (a.dtype == "bool" || b.dtype == "bool") &&
         is_mask(a.dtype == "bool" ? b : a) && hidden(a) == hidden(b) &&
         compare_masks(a, b, [](bool one, bool other) { return one == other; });
}

bool are_inverted_masks(const Tensor& a, const Tensor& b) {
  return a.shape == b.shape && is_mask(a) && is_mask(b) && hidden(a) + hidden(b) == static_cast<double>(a.numel()) &&
         compare_masks(a, b, [](bool one, bool other) { return one != other; });
}

std::optional<std::size_t> dimension_of_shares(const Tensor& tensor) {
  constexpr double rounding = 1e-4;
  if (tensor.shape.size() < 2 || tensor.non_finite > 0 || tensor.minimum < 0 || tensor.maximum > 1 + rounding)
    return std::nullopt;
  const auto numel = static_cast<double>(tensor.numel());
  std::optional<std::size_t> found;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    const double whole = numel / static_cast<double>(tensor.shape[d]);
    if (tensor.shape[d] < 2 || std::abs(tensor.sum - whole) > rounding * whole) continue;
    // Slices along every other dimension hold as many wholes as one another.
    bool are_even = true;
    for (std::size_t other = 0; other < tensor.sums.size(); ++other) {
      const double each = whole / static_cast<double>(tensor.shape[other]);
      are_even =
          are_even && (other == d || std::all_of(tensor.sums[other].begin(), tensor.sums[other].end(),
                                                 [&](double sum) { return std::abs(sum - each) <= rounding * each; }));
    }
    if (!are_even) continue;
    if (found) return std::nullopt;
    found = d;
  }
  return found;
}

std::optional<std::pair<std::string, std::string>> reread_types(const Tensor& a, const Tensor& b) {
  const std::vector<double> from = beginning(a), to = beginning(b);
  const bool is_single = b.dtype == "float32";
  for (const FileType& written : file_types) {
    const Bytes bytes = written.write(from);
    for (const FileType& read_as : file_types) {
      if (read_as.name == written.name) continue;
      const std::vector<double> values = read_as.read(bytes);
      const std::size_t count = std::min(values.size(), to.size());
      std::size_t telling = 0, same = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const double value = is_single ? static_cast<double>(static_cast<float>(values[i])) : values[i];
        const bool equal = value == to[i] || (std::isnan(value) && std::isnan(to[i]));
        same += equal ? 1 : 0;
        telling += equal && std::isfinite(value) && value != 0 ? 1 : 0;
      }
      if (count >= 2 && same == count && telling >= 2)
        return std::pair<std::string, std::string>(written.name, read_as.name);
    }
  }
  return std::nullopt;
}

bool is_new_statistic(const Tensor& buffer) {
  const double value = buffer.name == "running_var" ? 1 : 0;
  const bool is_one =
      buffer.name == "running_mean" || buffer.name == "running_var" || buffer.name == "num_batches_tracked";
  return is_one && buffer.minimum == value && buffer.maximum == value && buffer.non_finite == 0;
}

bool are_roots(const Tensor& a, const Tensor& b) {
  if (a.shape != b.shape || a.values.empty()) return false;
  bool is_telling = false;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (!(std::abs(b.values[i] * b.values[i] - a.values[i]) <= 1e-5 * std::abs(a.values[i]))) return false;
    is_telling = is_telling || std::abs(a.values[i] - b.values[i]) > 0.01 * std::abs(a.values[i]);
  }
  return is_telling;
}

}  // namespace loupe::port
