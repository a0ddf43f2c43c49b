#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "core/shared.h"
#include "measure/elements.h"

namespace loupe::measure {

/// Memory that is kept and only ever grown, aligned for the widest vectors and never cleared: its content after
/// `reserve` is unspecified.
class Buffer {
 public:
  /// Makes room for `bytes`; the contents are lost if that needs new memory. Throws std::bad_alloc.
  void reserve(size_t bytes) {
    if (bytes <= capacity_) return;
    memory_.reset();
    capacity_ = 0;
    memory_.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kAlignment})));
    capacity_ = bytes;
  }

  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(memory_.get());
  }

  size_t capacity() const { return capacity_; }

 private:
  static constexpr size_t kAlignment = 64;
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kAlignment}); }
  };

  std::unique_ptr<std::byte, Free> memory_;
  size_t capacity_ = 0;
};

/// Chooses the elements of a large tensor that are compared with earlier ones: runs of 64, one at a random place in
/// each of equally long parts of the tensor, to use cache lines and vector instructions and to skip no region. The
/// places depend only on the two numbers, so they are the same in every event and every run.
class Sample {
 public:
  static constexpr int64_t kRun = 64;

  /// At most `limit` elements of a tensor with `numel`; all, without runs, if almost none would be left out.
  LOUPE_SHARED Sample(int64_t numel, int64_t limit);

  bool is_whole() const { return runs_ == 0; }
  /// The number of compared elements.
  int64_t size() const { return is_whole() ? numel_ : runs_ * kRun; }
  int64_t runs() const { return runs_; }
  /// The place in the tensor where a run begins; ascending. Its elements are kept from run * kRun on.
  LOUPE_SHARED int64_t place(int64_t run) const;
  /// The first run that begins at `element` or later.
  int64_t first_run_from(int64_t element) const;

 private:
  int64_t numel_;
  int64_t blocks_;   ///< the number of blocks of kRun elements in the tensor
  int64_t runs_;     ///< 0 for the whole tensor
  double part_ = 1;  ///< blocks in each of the parts
};

/// Extrapolates a sample to the whole tensor: converts the products and changes in `m` from those of the sample into
/// those of the whole. The correlation is the sample's; the norms stay as they are.
/// @param size  the number of elements of the sample
/// @param squares  the sample's sum of squares; `last_squares` that of the event before
/// @param last_sum_squares  of the whole tensor at the event before
LOUPE_SHARED void estimate_whole(loupe_measurement& m, int64_t size, double squares, double last_squares,
                                 double last_sum_squares);

/// The last one or two values of a stream, for measures that compare a tensor with its earlier values. Values are float
/// or double, one after the other in the memory order of the tensor they came from, so a dense tensor matches them
/// without any lookup.
class History {
 public:
  /// Prepares for `tensor`, which will be compared and then kept, with its elements in memory order (`dense`) or
  /// row-major order. Forgets values that it cannot be compared with (different dtype or number of elements); reorders
  /// values kept in a different order, and forgets a sample of them, whose places would differ. `depth` is the number
  /// of old values to keep, 1 or 2; it never shrinks. `kept` is the number of elements kept of each value: all, or
  /// fewer. Throws std::bad_alloc, with the history forgotten.
  void prepare(const loupe_tensor& tensor, bool dense, int depth, int64_t kept);

  /// The number of old values to compare with: 0, 1 or 2.
  int held() const { return held_; }

  /// The newest kept value and the one before it; null if there is none.
  template <typename T>
  const T* last() {
    return held_ > 0 ? slots_[newest_].as<T>() : nullptr;
  }
  template <typename T>
  const T* older() {
    return held_ > 1 ? slots_[1 - newest_].as<T>() : nullptr;
  }

  /// The memory for the prepared tensor: over the oldest value, which must have been read by then.
  template <typename T>
  T* to_write() {
    return slots_[next_slot()].as<T>();
  }

  /// Call it once the prepared tensor has been written to `to_write`.
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
  // The order of the elements. Row-major needs no sizes: it is the same for any shape.
  bool row_major_ = true;
  std::vector<int64_t> sizes_;
  std::vector<int64_t> strides_;
};

}  // namespace loupe::measure
