#pragma once

#include <loupe/abi.h>

#include <cstdint>

namespace loupe::measure {

/// Which elements of a large tensor are compared with earlier ones: runs of 64, one at a random place in each of
/// equally long parts of the tensor, so that cache lines and vector instructions serve and no region is left out. The
/// places depend on nothing but the two numbers, and are thus the same in every event and every run.
class Sample {
 public:
  static constexpr int64_t kRun = 64;

  /// Of a tensor of `numel` elements at most `limit`; all, without runs, where that leaves out next to none.
  Sample(int64_t numel, int64_t limit);

  bool is_whole() const { return runs_ == 0; }
  /// How many elements are compared.
  int64_t size() const { return is_whole() ? numel_ : runs_ * kRun; }
  int64_t runs() const { return runs_; }
  /// Where a run begins in the tensor; ascending. Its elements are kept from run * kRun on.
  int64_t place(int64_t run) const;
  /// The first run that begins at `element` or later.
  int64_t first_run_from(int64_t element) const;

 private:
  int64_t numel_;
  int64_t blocks_;   ///< of kRun elements, that the tensor has
  int64_t runs_;     ///< 0 for the whole tensor
  double part_ = 1;  ///< blocks in each of the parts
};

/// What a sample says of the whole tensor: of `m` the products and changes are the sample's own, and are turned into
/// those that the whole would have. The correlation is the sample's, with the norms as they are.
/// @param size  the number of elements of the sample
/// @param squares  the sample's sum of squares; `last_squares` that of the event before
/// @param last_sum_squares  of the whole tensor at the event before
void estimate_whole(loupe_measurement& m, int64_t size, double squares, double last_squares, double last_sum_squares);

}  // namespace loupe::measure
