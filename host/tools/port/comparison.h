#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "port/alignment.h"
#include "port/record.h"

namespace loupe::port {

/// The result of comparing two records: their first departure, and the agreement before that.
struct Comparison {
  struct Departure {
    const Tensor* first;   ///< null if the first record lacks it
    const Tensor* second;  ///< null if the second record lacks it
    double difference;     ///< in units of rounding; infinite if the shapes differ or a tensor is missing
    double share;          ///< the least norm that the difference can have, as a share of the tensor's norm
    const Tensor& known() const { return first != nullptr ? *first : *second; }
  };
  std::optional<Departure> departure;  ///< the first
  std::size_t agreeing = 0;            ///< the number of tensors before it that agree
  double largest = 0;                  ///< the largest difference among them
  uint64_t steps = 0;                  ///< the steps that both records have
  const Tensor* before = nullptr;      ///< the first record's last input or output before the departure, in its step
  double inputs = 0;                   ///< how far the inputs of the departing output are apart
  /// Parameters, "conv1.bias", whose gradients are 0 except for rounding and which optimizers nevertheless moved apart.
  std::set<std::string> moved_by_rounding;
  std::size_t explained = 0;             ///< tensors that are apart only for that reason
  std::size_t unsure = 0;                ///< tensors that are apart, which may be rounding or not
  const Tensor* first_unsure = nullptr;  ///< the first of those, in the first record
};

/// Walks through the first record's tensors in the order of a step. Tensors agree if rounding explains their
/// difference: up to a share that grows with the precision of the type, the root of the number of summands, and earlier
/// differences. An input that differs is a departure only if the output of its module departs as well.
Comparison compare_records(const Record& first, const Record& second, const Alignment& alignment);

}  // namespace loupe::port
