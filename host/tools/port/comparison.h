#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "port/alignment.h"
#include "port/record.h"

namespace loupe::port {

/// What two records have in common, and where they depart.
struct Comparison {
  struct Departure {
    const Tensor* first;   ///< null where the first record lacks it
    const Tensor* second;  ///< null where the second does
    double difference;     ///< in units of rounding; infinite where the shapes differ or a tensor is missing
    double share;          ///< what the norm of the difference is at least, as a share of the tensor's own
    const Tensor& known() const { return first != nullptr ? *first : *second; }
  };
  std::optional<Departure> departure;  ///< the first
  std::size_t agreeing = 0;            ///< tensors before it
  double largest = 0;                  ///< of their differences
  uint64_t steps = 0;                  ///< that both have
  const Tensor* before = nullptr;      ///< the first record's last input or output before the departure, in its step
  double inputs = 0;                   ///< how far the inputs of the departing output are apart
  /// Parameters, "conv1.bias", whose gradients are 0 but for rounding and which optimizers nevertheless moved apart.
  std::set<std::string> moved_by_rounding;
  std::size_t explained = 0;             ///< tensors that are apart for that reason alone
  std::size_t unsure = 0;                ///< tensors that are apart, which may be rounding or not
  const Tensor* first_unsure = nullptr;  ///< of the first record
};

/// Walks through the first record's tensors in the order of a step. What differs no more than rounding explains agrees:
/// a share that grows with the precision of the type, the root of the number of summands, and what was apart before.
/// An input that differs is a departure only where the output of its module departs as well.
Comparison compare_records(const Record& first, const Record& second, const Alignment& alignment);

}  // namespace loupe::port
