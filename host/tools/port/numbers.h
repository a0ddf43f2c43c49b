#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "port/record.h"

namespace loupe::port {

/// How far apart what cannot be compared is.
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Whether one is the other within a thousandth.
bool are_near(double a, double b);

/// The distance from 1 to the next number of the coarser type; 0 for integers.
double epsilon_of(const Tensor& a, const Tensor& b);

/// How far two tensors of one shape are apart, in elements, sums and extremes, as a share of `scale`; infinite where
/// shapes differ, or what is not finite.
/// @param most_elements leave out the tenth that is farthest apart, and extremes
double difference(const Tensor& a, const Tensor& b, double scale, bool most_elements = false);

/// An estimate of the norm of a - b, where few elements, mostly unknown ones, may be all that differ.
double distance(const Tensor& a, const Tensor& b);

/// What the norm of a - b is at least, by all that is known of them; itself where all elements are.
double least_distance(const Tensor& a, const Tensor& b);

/// Whether both are one tensor under two names, as far as is known; false for zeros, which many may be.
bool are_identical(const Tensor& a, const Tensor& b);

/// The order of the first's dimensions in which it has the second's elements, in the second's shape: {1, 0} for a
/// transposed matrix, {0, 2, 3, 1} for NHWC that is read as NCHW. Nothing where it has no such order, or it needs none.
std::optional<std::vector<std::size_t>> permutation(const Tensor& a, const Tensor& b);

/// The dimension along which the slices of one are those of the other in another order.
std::optional<std::size_t> reordered_dimension(const Tensor& a, const Tensor& b);

/// Whether the elements may be the same in whatever order, as sums and extremes show, and the elements where all are
/// known. False where a and b are so close that other elements would have nearly the same sums.
bool have_same_values(const Tensor& a, const Tensor& b);

/// b = factor * a + offset.
struct Line {
  double factor, offset;
};
/// The line that all known elements follow.
/// @param with_offset whether there may be an offset
std::optional<Line> linear(const Tensor& a, const Tensor& b, bool with_offset);

/// The factors p and q of the combination p * a + q * b that is c, where all elements that are known are.
std::optional<std::pair<double, double>> combination(const Tensor& a, const Tensor& b, const Tensor& c);

/// Whether both look drawn from one distribution.
bool are_alike(const Tensor& a, const Tensor& b);

double mean_of(const Tensor& tensor);
double deviation_of(const Tensor& tensor);

/// Whether one is a boolean mask and the other the same mask as numbers to add: minus infinity where it hides, else 0.
bool are_same_mask(const Tensor& a, const Tensor& b);

/// Whether both are masks, of either form, and each hides what the other does not.
bool are_inverted_masks(const Tensor& a, const Tensor& b);

/// The dimension along which the elements are shares of 1, as after a softmax; nothing if unknown.
std::optional<std::size_t> dimension_of_shares(const Tensor& tensor);

/// Where the second's elements are the bytes of the first's, read as another type: the types in which they were written
/// and read, "float32" and "float64".
std::optional<std::pair<std::string, std::string>> reread_types(const Tensor& a, const Tensor& b);

/// Whether a buffer of that name is a running statistic of a norm.
bool is_statistic_of_norm(const std::string& name);

/// Whether the elements are what a new batch norm has: a mean of zeros, a variance of ones, no batches.
bool is_new_statistic(const Tensor& buffer);

/// Whether the second's elements are the roots of the first's.
bool are_roots(const Tensor& a, const Tensor& b);

}  // namespace loupe::port
