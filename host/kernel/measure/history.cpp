#include "measure/history.h"

#include <algorithm>
#include <cmath>

namespace loupe::measure {
namespace {

/// The last step of SplitMix64 (Steele, Lea and Flood 2014): consecutive numbers give unrelated results.
uint64_t scrambled(uint64_t number) {
  number += 0x9e3779b97f4a7c15u;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31);
}

/// Copies every element of a tensor of these sizes from one set of strides to another.
template <typename T>
void rearrange(const std::vector<int64_t>& sizes, const T* from, const std::vector<int64_t>& from_strides, T* to,
               const std::vector<int64_t>& to_strides, size_t dimension = 0) {
  if (dimension == sizes.size()) {
    *to = *from;
    return;
  }
  for (int64_t i = 0; i < sizes[dimension]; ++i) {
    rearrange(sizes, from + i * from_strides[dimension], from_strides, to + i * to_strides[dimension], to_strides,
              dimension + 1);
  }
}

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) strides[d] = stride;
  return strides;
}

}  // namespace

Sample::Sample(int64_t numel, int64_t limit)
    : numel_(numel), blocks_(numel / kRun), runs_(numel > limit ? std::max<int64_t>(1, limit / kRun) : 0) {
  if (runs_ >= blocks_) runs_ = 0;  // too small to be worth it
  if (runs_ > 0) part_ = static_cast<double>(blocks_) / static_cast<double>(runs_);
}

int64_t Sample::place(int64_t run) const {
  const auto begin = static_cast<int64_t>(static_cast<double>(run) * part_);
  const auto end = std::min(blocks_, static_cast<int64_t>(static_cast<double>(run + 1) * part_));
  // The upper 53 bits become a number from 0 to 1, which a double represents exactly.
  const double share = static_cast<double>(scrambled(static_cast<uint64_t>(run)) >> 11) * 0x1p-53;
  const auto block = begin + static_cast<int64_t>(share * static_cast<double>(end - begin));
  return std::min(block, end - 1) * kRun;
}

int64_t Sample::first_run_from(int64_t element) const {
  const double parts = static_cast<double>(element / kRun) / part_;
  int64_t run = std::max<int64_t>(0, static_cast<int64_t>(parts) - 1);
  while (run < runs_ && place(run) < element) ++run;
  return run;
}

void estimate_whole(loupe_measurement& m, int64_t size, double squares, double last_squares, double last_sum_squares) {
  if ((m.flags & (LOUPE_MEASUREMENT_HAS_PREVIOUS | LOUPE_MEASUREMENT_HAS_CHANGE)) == 0) return;
  const double both = squares * last_squares;
  const double correlation = both > 0 ? m.dot_previous / std::sqrt(both) : 0;
  const double scale = static_cast<double>(m.numel) / static_cast<double>(size);
  if ((m.flags & LOUPE_MEASUREMENT_HAS_PREVIOUS) != 0)
    m.dot_previous = correlation * std::sqrt(m.sum_squares) * std::sqrt(last_sum_squares);
  m.change_sum_squares *= scale;
  m.dot_change *= scale;
  m.flags |= LOUPE_MEASUREMENT_SAMPLED;
}

void History::prepare(const loupe_tensor& tensor, bool dense, int depth, int64_t kept) {
  const Dtype dtype = dtype_of(tensor);
  const size_t element = computes_in_double(dtype) ? sizeof(double) : sizeof(float);
  const size_t bytes = static_cast<size_t>(kept) * element;
  const bool row_major = !dense || is_row_major(tensor);
  const bool same = same_order(tensor, row_major);
  if (dtype != dtype_ || tensor.numel != numel_ || kept != kept_ || (!same && kept != tensor.numel)) forget();
  dtype_ = dtype;
  numel_ = tensor.numel;
  kept_ = kept;
  depth_ = depth;
  try {
    if (!same) follow_order(tensor, row_major);
    slots_[next_slot()].reserve(bytes);
  } catch (...) {
    forget();
    throw;
  }
}

void History::commit() {
  newest_ = next_slot();
  held_ = std::min(held_ + 1, depth_);
}

bool History::same_order(const loupe_tensor& tensor, bool row_major) const {
  if (row_major || row_major_) return row_major == row_major_;
  return std::equal(tensor.sizes, tensor.sizes + tensor.dim, sizes_.begin(), sizes_.end()) &&
         std::equal(tensor.strides, tensor.strides + tensor.dim, strides_.begin(), strides_.end());
}

void History::follow_order(const loupe_tensor& tensor, bool row_major) {
  // Go through row-major order, which also matches tensors of different shapes.
  if (!row_major_) reorder(row_major_strides(sizes_), /*from=*/strides_);
  row_major_ = true;
  if (row_major) return;
  sizes_.assign(tensor.sizes, tensor.sizes + tensor.dim);
  strides_.assign(tensor.strides, tensor.strides + tensor.dim);
  reorder(strides_, /*from=*/row_major_strides(sizes_));
  row_major_ = false;
}

void History::reorder(const std::vector<int64_t>& to, const std::vector<int64_t>& from) {
  for (int i = 0; i < held_; ++i) {
    Buffer& slot = slots_[i == 0 ? newest_ : 1 - newest_];
    Buffer ordered;
    ordered.reserve(slot.capacity());
    if (computes_in_double(dtype_)) {
      rearrange(sizes_, slot.as<double>(), from, ordered.as<double>(), to);
    } else {
      rearrange(sizes_, slot.as<float>(), from, ordered.as<float>(), to);
    }
    slot = std::move(ordered);
  }
}

size_t History::bytes() const {
  return slots_[0].capacity() + slots_[1].capacity() + (sizes_.capacity() + strides_.capacity()) * sizeof(int64_t);
}

}  // namespace loupe::measure
