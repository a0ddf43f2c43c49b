#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "port/record.h"

namespace loupe::port {

/// The difference of tensors that cannot be compared.
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Whether two numbers are equal within a thousandth.
bool are_near(double a, double b);

/// The distance from 1 to the next number of the coarser type; 0 for integers.
double epsilon_of(const Tensor& a, const Tensor& b);

/// How far two tensors of one shape are apart, in elements, sums and extremes, as a share of `scale`; infinite if the
/// shapes or the elements that are not finite differ.
/// @param most_elements leave out the tenth that is farthest apart, and extremes
double difference(const Tensor& a, const Tensor& b, double scale, bool most_elements = false);

/// An estimate of the norm of a - b, for tensors in which perhaps only a few elements differ, most of them unknown.
double distance(const Tensor& a, const Tensor& b);

/// The least norm that a - b can have by all that is known of them; the norm itself if all elements are known.
double least_distance(const Tensor& a, const Tensor& b);

/// Whether both are one tensor under two names, as far as is known; false for zeros, which many may be.
bool are_identical(const Tensor& a, const Tensor& b);

/// The order of the first's dimensions in which it has the second's elements, in the second's shape: {1, 0} for a
/// transposed matrix, {0, 2, 3, 1} for NHWC that is read as NCHW. Nothing where it has no such order, or it needs none.
std::optional<std::vector<std::size_t>> permutation(const Tensor& a, const Tensor& b);

/// The dimension along which the slices of one are those of the other in another order.
std::optional<std::size_t> reordered_dimension(const Tensor& a, const Tensor& b);

/// Whether the elements may be the same in any order, by sums and extremes, and by the elements if all are known. False
/// where a and b are so close that other elements would have nearly the same sums.
bool have_same_values(const Tensor& a, const Tensor& b);

/// b = factor * a + offset.
struct Line {
  double factor, offset;
};
/// The line that all known elements follow.
/// @param with_offset whether there may be an offset
std::optional<Line> linear(const Tensor& a, const Tensor& b, bool with_offset);

/// The factors p and q for which p * a + q * b is c, in all known elements.
std::optional<std::pair<double, double>> combination(const Tensor& a, const Tensor& b, const Tensor& c);

/// Whether both look drawn from one distribution.
bool are_alike(const Tensor& a, const Tensor& b);

double mean_of(const Tensor& tensor);
double deviation_of(const Tensor& tensor);

/// Whether one is a boolean mask and the other the same mask as numbers to add: minus infinity where it hides, else 0.
bool are_same_mask(const Tensor& a, const Tensor& b);

/// Whether both are masks, of either form, and each hides exactly the elements that the other does not.
bool are_inverted_masks(const Tensor& a, const Tensor& b);

/// The dimension along which the elements are shares of 1, as after a softmax; nothing if unknown.
std::optional<std::size_t> dimension_of_shares(const Tensor& tensor);

/// If the second's elements are the bytes of the first's, read as another type: the types in which they were written
/// and read, "float32" and "float64".
std::optional<std::pair<std::string, std::string>> reread_types(const Tensor& a, const Tensor& b);

/// Whether a buffer of that name is a running statistic of a norm.
bool is_statistic_of_norm(const std::string& name);

/// Whether the elements are those of a new batch norm: a mean of zeros, a variance of ones, no batches.
bool is_new_statistic(const Tensor& buffer);

/// Whether the second's elements are the roots of the first's.
bool are_roots(const Tensor& a, const Tensor& b);

}  // namespace loupe::port
