#pragma once

#include <cstdint>

#include "loupe/abi.h"
#include "measure/kernels.h"

namespace loupe::measure {

/// How a tensor's elements, in the order they are read, belong to units: as [outer, units, inner]. Each chunk of the
/// tensor notes in flags of its own what it saw active.
struct UnitGrid {
  enum class Flags {
    kNone,        // every element is a unit: counting is enough
    kPerElement,  // one for each of [units, inner], several times over where that is short, to have long rows
    kPerUnit      // where inner is long
  };

  int64_t units = 0;
  int64_t inner = 1;
  Flags flags = Flags::kNone;
  int64_t flag_count = 0;  // of one chunk
};

/// `unit_dimension` as in loupe_request; `dense` says that the tensor is read in memory order.
UnitGrid unit_grid(const loupe_tensor& tensor, bool dense, int32_t unit_dimension);

/// The largest T that is not above epsilon, so that comparing as T decides as comparing as double does.
template <typename T>
T round_epsilon(double epsilon);

/// Counts the active elements of one chunk and flags their units.
template <typename T>
class UnitCounter {
 public:
  /// `flags` are the chunk's flag_count, cleared here; the chunk begins with element `begin` of the tensor.
  UnitCounter(const UnitGrid& grid, T epsilon, T* flags, int64_t begin);
  void add(const T* x, int64_t n);
  int64_t active() const { return active_; }

 private:
  void add_rows(const T* x, int64_t n);
  void add_runs(const T* x, int64_t n);

  const UnitGrid& grid_;
  const T epsilon_;
  T* const flags_;
  int64_t active_ = 0;
  int64_t flag_ = 0;    // where the next element belongs
  int64_t in_run_ = 0;  // kPerUnit: how far into its run it is
};

/// Units without an active element, from the flags of all chunks, which lie one after the other and are overwritten.
template <typename T>
int64_t count_dead(const UnitGrid& grid, int64_t active, T* flags, int64_t chunks);

}  // namespace loupe::measure
