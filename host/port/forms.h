#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "port/record.h"

namespace loupe::port {

/// Whether one is a boolean mask and the other the same mask as numbers to add: minus infinity where it hides, else 0.
bool are_same_mask(const Tensor& a, const Tensor& b);

/// Whether both are masks, of either form, and each hides what the other does not.
bool are_inverted_masks(const Tensor& a, const Tensor& b);

/// The dimension along which the elements are shares of 1, as after a softmax; nothing where it cannot be told.
std::optional<std::size_t> dimension_of_shares(const Tensor& tensor);

/// Where the second's elements are the bytes of the first's, read as another type: the types in which they were written
/// and read, "float32" and "float64".
std::optional<std::pair<std::string, std::string>> reread_types(const Tensor& a, const Tensor& b);

/// Whether the elements are what a new batch norm has: a mean of zeros, a variance of ones, no batches.
bool is_new_statistic(const Tensor& buffer);

/// Whether the second's elements are the roots of the first's.
bool are_roots(const Tensor& a, const Tensor& b);

}  // namespace loupe::port
