#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "loupe/abi.h"
#include "measure/buffer.h"
#include "measure/dtype.h"

namespace loupe::measure {

/// The last one or two values of a stream, for those measures that compare a tensor with what it was before. Values are
/// float or double, one after the other in the memory order of the tensor they came from, so that a dense tensor pairs
/// up with them without looking anything up.
class History {
 public:
  /// Gets ready for `tensor`, which is about to be compared and then kept, with its elements in memory order (`dense`)
  /// or row-major order. Values that it cannot be compared with (another dtype or number of elements) are forgotten;
  /// values kept in another order are put into this one, and a sample of them, whose places lie elsewhere in another
  /// order, is forgotten. `depth` is how many old values to keep, 1 or 2; it never shrinks. `kept` is how many elements
  /// are kept of each value: all, or fewer. Throws std::bad_alloc, with the history forgotten.
  void prepare(const loupe_tensor& tensor, bool dense, int depth, int64_t kept);

  /// How many old values can be compared with: 0, 1 or 2.
  int held() const { return held_; }

  /// The newest value held and the one before it; null where there is none.
  template <typename T>
  const T* last() {
    return held_ > 0 ? slots_[newest_].as<T>() : nullptr;
  }
  template <typename T>
  const T* older() {
    return held_ > 1 ? slots_[1 - newest_].as<T>() : nullptr;
  }

  /// Where the prepared tensor is to be written: over the oldest value, which must have been read by then.
  template <typename T>
  T* to_write() {
    return slots_[next_slot()].as<T>();
  }

  /// Says that the prepared tensor has been written to `to_write`.
  void commit();

  void forget() { held_ = 0; }
  size_t bytes() const;

 private:
  int next_slot() const { return depth_ == 2 && held_ > 0 ? 1 - newest_ : newest_; }
  bool same_order(const loupe_tensor& tensor, bool row_major) const;
  void follow_order(const loupe_tensor& tensor, bool row_major);
  void reorder(const std::vector<int64_t>& to, const std::vector<int64_t>& from);

  Buffer slots_[2];
  int newest_ = 0;
  int held_ = 0;
  int depth_ = 1;
  Dtype dtype_ = {};
  int64_t numel_ = 0;
  int64_t kept_ = 0;
  // The order of the elements. Row-major needs no sizes: it is the same whatever the shape.
  bool row_major_ = true;
  std::vector<int64_t> sizes_;
  std::vector<int64_t> strides_;
};

}  // namespace loupe::measure
