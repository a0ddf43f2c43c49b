#include "port/numbers.h"

#include <loupe/files/fingerprint.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace loupe::port {
namespace {

constexpr double same = 1e-4;  // differences below this are rounding

double apart(double a, double b, double scale) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  return scale > 0 && std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) / scale : infinity;
}

double common_scale(const Tensor& a, const Tensor& b) {
  return std::max(a.rms(), b.rms());
}

double epsilon_of(const std::string& dtype) {
  if (dtype == "float64" || dtype == "complex128") return std::ldexp(1, -52);
  if (dtype == "float16") return std::ldexp(1, -10);
  if (dtype == "bfloat16") return std::ldexp(1, -7);
  return dtype.find("float") != std::string::npos || dtype == "complex64" ? std::ldexp(1, -23) : 0;
}

/// The largest difference of two sums with this number of summands that a different order can cause, in float64 as the
/// records' sums are.
double rounding_of_sums(double summands, double magnitudes) {
  return summands * std::ldexp(1, -52) * magnitudes;
}

/// How far sums of slices are apart, each as a share of its summands' size; 0 where their order explains it.
std::vector<double> of_sums(const std::vector<double>& one, const std::vector<double>& other, double summands,
                            double sum_squares, double scale) {
  const double rounding = rounding_of_sums(summands, std::sqrt(summands * sum_squares));
  std::vector<double> all;
  for (std::size_t i = 0; i < one.size() && i < other.size(); ++i)
    all.push_back(std::abs(one[i] - other[i]) <= rounding ? 0 : apart(one[i], other[i], scale * summands));
  return all;
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

}  // namespace

bool are_near(double a, double b) {
  return std::abs(a - b) <= 1e-3 * std::abs(b);
}

double epsilon_of(const Tensor& a, const Tensor& b) {
  return std::max(epsilon_of(a.dtype), epsilon_of(b.dtype));
}

double difference(const Tensor& a, const Tensor& b, double scale, bool most_elements) {
  if (a.shape != b.shape || a.non_finite != b.non_finite) return infinity;
  const auto most_of = [&](std::vector<double> all) {
    if (all.empty()) return 0.0;
    std::sort(all.begin(), all.end());
    return all[all.size() - 1 - (most_elements ? all.size() / 10 : 0)];
  };
  const auto of_list = [&](const std::vector<double>& one, const std::vector<double>& other, double size) {
    std::vector<double> all;
    for (std::size_t i = 0; i < one.size() && i < other.size(); ++i) all.push_back(apart(one[i], other[i], size));
    return most_of(std::move(all));
  };
  const auto count = static_cast<double>(std::max<int64_t>(a.numel(), 1));
  // Compare the roots of squares, which have the size of the elements.
  const bool same_squares = std::abs(a.sum_squares - b.sum_squares) <= rounding_of_sums(count, a.sum_squares);
  double most = std::max({of_list(a.values, b.values, scale),
                          of_sums({a.sum}, {b.sum}, count, std::max(a.sum_squares, b.sum_squares), scale)[0],
                          same_squares ? 0 : apart(a.rms(), b.rms(), scale)});
  if (!most_elements)
    most = std::max({most, apart(a.minimum, b.minimum, std::max(scale, std::abs(a.minimum))),
                     apart(a.maximum, b.maximum, std::max(scale, std::abs(a.maximum)))});
  for (std::size_t d = 0; d < a.sums.size() && d < b.sums.size(); ++d) {
    if (a.sums[d].empty()) continue;
    const double summands = count / static_cast<double>(a.sums[d].size());
    most =
        std::max(most, most_of(of_sums(a.sums[d], b.sums[d], summands, std::max(a.sum_squares, b.sum_squares), scale)));
  }
  return most;
}

double distance(const Tensor& a, const Tensor& b) {
  // Sums of differences with random signs are about as large as the norm of the differences.
  double known = 0,
         most = std::max(std::abs(a.sum - b.sum), std::abs(std::sqrt(a.sum_squares) - std::sqrt(b.sum_squares)));
  for (std::size_t i = 0; i < a.values.size() && i < b.values.size(); ++i)
    known += (a.values[i] - b.values[i]) * (a.values[i] - b.values[i]);
  if (!a.values.empty())
    most = std::max(most, std::sqrt(known * static_cast<double>(a.numel()) / static_cast<double>(a.values.size())));
  for (std::size_t d = 0; d < a.sums.size() && d < b.sums.size(); ++d) {
    double squares = 0;
    for (std::size_t i = 0; i < a.sums[d].size() && i < b.sums[d].size(); ++i)
      squares += (a.sums[d][i] - b.sums[d][i]) * (a.sums[d][i] - b.sums[d][i]);
    most = std::max(most, std::sqrt(squares));
  }
  return std::isfinite(most) ? most : 0;
}

double least_distance(const Tensor& a, const Tensor& b) {
  const auto squared = [](double x, double y) { return std::isfinite(x) && std::isfinite(y) ? (x - y) * (x - y) : 0; };
  double known = 0;
  for (std::size_t i = 0; i < a.values.size() && i < b.values.size(); ++i) known += squared(a.values[i], b.values[i]);
  const auto numel = static_cast<std::size_t>(std::max<int64_t>(a.numel(), 1));
  if (a.values.size() == numel) return std::sqrt(known);
  // A sum's square is no more than the number of summands times the sum of their squares.
  double most = std::max({known, squared(a.sum, b.sum) / static_cast<double>(numel),
                          squared(std::sqrt(a.sum_squares), std::sqrt(b.sum_squares))});
  for (std::size_t d = 0; d < a.sums.size() && d < b.sums.size(); ++d) {
    double squares = 0;
    for (std::size_t i = 0; i < a.sums[d].size() && i < b.sums[d].size(); ++i)
      squares += squared(a.sums[d][i], b.sums[d][i]) * static_cast<double>(a.sums[d].size());
    most = std::max(most, squares / static_cast<double>(numel));
  }
  return std::sqrt(most);
}

bool are_identical(const Tensor& a, const Tensor& b) {
  return a.shape == b.shape && a.sum_squares > 0 && a.sum_squares == b.sum_squares && a.sum == b.sum &&
         a.values == b.values && a.sums == b.sums;
}

std::optional<std::vector<std::size_t>> permutation(const Tensor& a, const Tensor& b) {
  const std::size_t dims = a.shape.size();
  if (dims < 2 || dims > 4 || !have_same_values(a, b)) return std::nullopt;
  std::map<int64_t, double> known;
  const std::vector<int64_t> from = fingerprint_positions(a.shape), to = fingerprint_positions(b.shape);
  for (std::size_t i = 0; i < from.size(); ++i) known[from[i]] = a.values[i];
  const std::vector<int64_t> strides = strides_of(a.shape);
  std::vector<std::size_t> order(dims);
  std::iota(order.begin(), order.end(), std::size_t{0});
  while (std::next_permutation(order.begin(), order.end())) {
    std::vector<int64_t> permuted;
    for (const std::size_t d : order) permuted.push_back(a.shape[d]);
    const std::vector<int64_t> permuted_strides = strides_of(permuted);
    std::size_t moved = 0;
    bool fits = true;
    for (std::size_t i = 0; i < to.size() && fits; ++i) {
      int64_t place = 0;
      for (std::size_t d = 0; d < dims; ++d) place += to[i] / permuted_strides[d] % permuted[d] * strides[order[d]];
      const auto found = known.find(place);
      if (found == known.end()) continue;
      fits = apart(found->second, b.values[i], common_scale(a, b)) <= same;
      const auto unmoved = a.shape == b.shape ? known.find(to[i]) : known.end();
      const bool is_telling = unmoved == known.end() || apart(unmoved->second, b.values[i], common_scale(a, b)) > same;
      moved += (place != to[i] || a.shape != b.shape) && is_telling ? 1 : 0;
    }
    if (fits && moved >= 3) return order;
  }
  return std::nullopt;
}

std::optional<std::size_t> reordered_dimension(const Tensor& a, const Tensor& b) {
  if (a.shape != b.shape || !have_same_values(a, b)) return std::nullopt;
  std::optional<std::size_t> reordered;
  for (std::size_t d = 0; d < a.sums.size() && d < b.sums.size(); ++d) {
    if (a.sums[d].size() != b.sums[d].size() || a.sums[d].empty()) continue;
    const double slice =
        common_scale(a, b) * std::sqrt(static_cast<double>(a.numel()) / static_cast<double>(a.sums[d].size()));
    const auto equal = [&](const std::vector<double>& one, const std::vector<double>& other) {
      return std::equal(one.begin(), one.end(), other.begin(),
                        [&](double x, double y) { return apart(x, y, slice) <= same; });
    };
    if (equal(a.sums[d], b.sums[d])) continue;
    std::vector<double> one = a.sums[d], other = b.sums[d];
    std::sort(one.begin(), one.end());
    std::sort(other.begin(), other.end());
    if (reordered || !equal(one, other)) return std::nullopt;
    reordered = d;
  }
  return reordered;
}

bool have_same_values(const Tensor& a, const Tensor& b) {
  if (a.numel() != b.numel() || a.non_finite != b.non_finite) return false;
  const double scale = common_scale(a, b), root = std::sqrt(static_cast<double>(std::max<int64_t>(a.numel(), 1)));
  // Changed elements move the norm by about half the square of their share in it, and the sum by less than that share.
  constexpr double far_less = 0.02;
  const double share = a.shape == b.shape && scale > 0 ? std::min(least_distance(a, b) / (scale * root), 1.0) : 1;
  const auto fits = [&](double one, double other, double size, double most) {
    return apart(one, other, size) <= std::min(same, most);
  };
  if (!fits(a.rms(), b.rms(), scale, far_less * share * share) || !fits(a.sum, b.sum, scale * root, far_less * share) ||
      !fits(a.minimum, b.minimum, scale, same) || !fits(a.maximum, b.maximum, scale, same))
    return false;
  if (static_cast<int64_t>(a.values.size()) != a.numel() || a.values.size() != b.values.size()) return true;
  std::vector<double> one = a.values, other = b.values;
  std::sort(one.begin(), one.end());
  std::sort(other.begin(), other.end());
  return std::equal(one.begin(), one.end(), other.begin(),
                    [&](double x, double y) { return fits(x, y, scale, far_less * share); });
}

std::optional<Line> linear(const Tensor& a, const Tensor& b, bool with_offset) {
  if (a.shape != b.shape || a.values.size() < (with_offset ? 4U : 1U) || a.non_finite + b.non_finite > 0)
    return std::nullopt;
  const auto count = static_cast<double>(a.values.size());
  const double mean_a = with_offset ? std::accumulate(a.values.begin(), a.values.end(), 0.0) / count : 0;
  const double mean_b = with_offset ? std::accumulate(b.values.begin(), b.values.end(), 0.0) / count : 0;
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    products += (a.values[i] - mean_a) * (b.values[i] - mean_b);
    squares += (a.values[i] - mean_a) * (a.values[i] - mean_a);
  }
  if (squares == 0 || products == 0) return std::nullopt;
  const Line line{products / squares, mean_b - products / squares * mean_a};
  constexpr double fits = 1e-3;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (apart(line.factor * a.values[i] + line.offset, b.values[i], b.rms()) > fits) return std::nullopt;
  }
  return line;
}

std::optional<std::pair<double, double>> combination(const Tensor& a, const Tensor& b, const Tensor& c) {
  const std::size_t count = c.values.size();
  if (a.values.size() != count || b.values.size() != count || a.non_finite + b.non_finite + c.non_finite > 0)
    return std::nullopt;
  // Two factors fit any two numbers.
  const auto counts = [&](double value) { return std::abs(value) > 1e-2 * c.rms(); };
  if (std::count_if(c.values.begin(), c.values.end(), counts) < 5) return std::nullopt;
  double aa = 0, ab = 0, bb = 0, ac = 0, bc = 0;
  for (std::size_t i = 0; i < count; ++i) {
    aa += a.values[i] * a.values[i];
    ab += a.values[i] * b.values[i];
    bb += b.values[i] * b.values[i];
    ac += a.values[i] * c.values[i];
    bc += b.values[i] * c.values[i];
  }
  const double determinant = aa * bb - ab * ab;
  if (determinant <= 1e-6 * aa * bb) return std::nullopt;  // one is a multiple of the other
  const double p = (ac * bb - bc * ab) / determinant, q = (bc * aa - ac * ab) / determinant;
  constexpr double fits = 1e-3;
  for (std::size_t i = 0; i < count; ++i) {
    if (apart(p * a.values[i] + q * b.values[i], c.values[i], c.rms()) > fits) return std::nullopt;
  }
  return std::pair(p, q);
}

bool are_alike(const Tensor& a, const Tensor& b) {
  if (a.shape != b.shape || a.numel() < 2) return false;
  const double count = static_cast<double>(a.numel()), one = deviation_of(a), other = deviation_of(b);
  if (one == 0 || other == 0) return false;
  const bool spread = std::abs(std::log(one / other)) < 0.05 + 3 / std::sqrt(count);
  return spread && std::abs(mean_of(a) - mean_of(b)) < 4 * std::max(one, other) / std::sqrt(count);
}

double mean_of(const Tensor& tensor) {
  return tensor.sum / static_cast<double>(std::max<int64_t>(tensor.numel() - tensor.non_finite, 1));
}

double deviation_of(const Tensor& tensor) {
  return std::sqrt(std::max(0.0, tensor.rms() * tensor.rms() - mean_of(tensor) * mean_of(tensor)));
}

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
    // A value that the type cannot hold was not written in that type.
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

/// The elements from the first one on, until one is unknown.
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
    // The slices along every other dimension must have equal sums.
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

bool is_statistic_of_norm(const std::string& name) {
  return name == "running_mean" || name == "running_var" || name == "num_batches_tracked";
}

bool is_new_statistic(const Tensor& buffer) {
  const double value = buffer.name == "running_var" ? 1 : 0;
  return is_statistic_of_norm(buffer.name) && buffer.minimum == value && buffer.maximum == value &&
         buffer.non_finite == 0;
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
