#pragma once

// Fingerprints: the tensors of a model's first steps, reduced to a few numbers each, to compare two runs in any
// language. The lens `fingerprint` and sdk/python/loupe_record.py write them; `loupe compare --port` reads them.
//
// A file is lines of JSON, in order of time, each with its `kind`:
//
// fingerprint  the first line: format (1), language ("C++", "Python"), libtorch, model (its type), steps (the requested
//              number of steps)
// module       before its first tensor, parents before children: name ("" for the model itself), type ("BatchNorm2d"),
//              settings as the language prints them ("3, eps=1e-05"; may be ""), functional (true for a function, for
//              example torch::relu, which only C++ records)
// optimizer    at each of its steps, one line per parameter group: step, optimizer (from 0), type, group (from 0), and,
//              if it has them, lr, momentum, dampening, nesterov, beta1, beta2, alpha, eps, weight_decay, amsgrad and
//              centered
// tensor       step (from 1, which begins with the first forward; 0 for tensors before it), what, module, and:
//
//   what            one of
//                     parameter, buffer  their values in step 0; a buffer also after each step
//                     input, output      of a forward, recorded before and after it
//                     output_gradient    the gradient of its first output
//                     loss               which has no module
//                     gradient, update   of a parameter: the gradient that the optimizer used, and the change by the
//                     step
//   name            of the parameter or buffer, else ""
//   index           which of several inputs or outputs, from 0
//   call            which of the module's forwards in this step, from 0; for an output_gradient, which backward
//   training        whether the module was in training mode
//   shape, dtype    "float32", as Python names them
//   non_finite      the number of NaN and infinite elements; the next four numbers leave these out
//   sum, sum_squares, minimum, maximum
//   values          the elements at fingerprint_positions(shape)
//   sums            for each dimension of 2 to 64 indices the sums of the elements at each index, else []; [] if there
//   are
//                   fewer than two dimensions
//
// If a program fails, its file contains everything up to the failure.
//
// Numbers are computed from the tensor in float64. NaN and infinities are the strings "NaN", "Infinity" and
// "-Infinity".

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace loupe {
inline namespace v1_0 {

constexpr int fingerprint_format = 1;
constexpr std::size_t fingerprint_positions_most = 64;
constexpr int64_t fingerprint_sums_most = 64;

/// The sampled elements of a tensor of that shape, as row-major offsets: all if there are at most 64. Otherwise the
/// first four along each dimension, and then, for tensors of up to four dimensions, groups of positions that map to
/// each other under every permutation of the dimensions: so a transposed tensor can be recognized by its elements.
inline std::vector<int64_t> fingerprint_positions(const std::vector<int64_t>& shape) {
  const auto dims = shape.size();
  const int64_t numel = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<int64_t> positions;
  if (numel <= static_cast<int64_t>(fingerprint_positions_most)) {
    positions.resize(static_cast<std::size_t>(std::max<int64_t>(numel, 0)));
    std::iota(positions.begin(), positions.end(), int64_t{0});
    return positions;
  }
  std::vector<int64_t> strides(dims, 1);
  for (std::size_t d = dims; d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  const auto add = [&](int64_t position) {
    const bool is_new = std::find(positions.begin(), positions.end(), position) == positions.end();
    if (is_new && positions.size() < fingerprint_positions_most) positions.push_back(position);
  };
  add(0);
  for (std::size_t d = 0; d < dims; ++d) {
    for (int64_t i = 1; i < 4 && i < shape[d]; ++i) add(i * strides[d]);
  }
  std::vector<std::size_t> order(dims);
  for (uint64_t group = 0; group < fingerprint_positions_most; ++group) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      int64_t position = 0;
      for (std::size_t d = 0; d < dims; ++d) {
        const uint64_t hash = ((group * 8 + order[d] + 1) * 2654435761U) & 0xffffffffU;
        position += static_cast<int64_t>(hash * static_cast<uint64_t>(shape[d]) >> 32) * strides[d];
      }
      add(position);
    } while (dims <= 4 && std::next_permutation(order.begin(), order.end()));
  }
  return positions;
}

/// The numbers of a line of the kind `tensor` about the elements.
struct TensorSummary {
  int64_t non_finite = 0;
  double sum = 0, sum_squares = 0, minimum = 0, maximum = 0;
  std::vector<double> values;
  std::vector<std::vector<double>> sums;
};

/// @param elements all of them, in row-major order
inline TensorSummary summarize(const std::vector<int64_t>& shape, const std::vector<double>& elements) {
  TensorSummary summary;
  for (const int64_t position : fingerprint_positions(shape))
    summary.values.push_back(elements[static_cast<std::size_t>(position)]);
  summary.minimum = std::numeric_limits<double>::infinity();
  summary.maximum = -summary.minimum;
  for (const double element : elements) {
    if (!std::isfinite(element)) {
      ++summary.non_finite;
      continue;
    }
    summary.sum += element;
    summary.sum_squares += element * element;
    summary.minimum = std::min(summary.minimum, element);
    summary.maximum = std::max(summary.maximum, element);
  }
  if (summary.minimum > summary.maximum) summary.minimum = summary.maximum = 0;
  if (shape.size() < 2) return summary;
  std::size_t stride = elements.size();
  for (const int64_t size : shape) {
    std::vector<double>& sums = summary.sums.emplace_back();
    if (size > 0) stride /= static_cast<std::size_t>(size);
    if (size < 2 || size > fingerprint_sums_most) continue;
    sums.resize(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (std::isfinite(elements[i])) sums[i / stride % sums.size()] += elements[i];
    }
  }
  return summary;
}

}  // namespace v1_0
}  // namespace loupe
