#include "measure/units.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "measure/layout.h"

namespace loupe::measure {
namespace {

constexpr int64_t kLongRun = 64;  // shorter ones are not worth a kernel call each
constexpr int64_t kLongRow = 256;

}  // namespace

UnitGrid unit_grid(const loupe_tensor& tensor, bool dense, int32_t unit_dimension) {
  UnitGrid grid;
  if (tensor.numel == 0) return grid;
  if (tensor.dim == 0) {
    grid.units = 1;
    return grid;
  }
  const int64_t wanted = unit_dimension < 0 ? unit_dimension + tensor.dim : unit_dimension;
  const int64_t d = std::clamp<int64_t>(wanted, 0, tensor.dim - 1);
  grid.units = tensor.sizes[d];
  grid.inner = dense ? tensor.strides[d] : elements_inside(tensor, d);
  if (grid.units == 1) grid.inner = tensor.numel;  // whatever the stride says
  const int64_t row = grid.units * grid.inner;
  if (grid.units == tensor.numel) return grid;
  if (grid.inner >= kLongRun) {
    grid.flags = UnitGrid::Flags::kPerUnit;
    grid.flag_count = grid.units;
  } else {
    const int64_t rows_for_long = (kLongRow + row - 1) / row;
    grid.flags = UnitGrid::Flags::kPerElement;
    grid.flag_count = row * std::min(rows_for_long, tensor.numel / row);
  }
  return grid;
}

template <typename T>
T round_epsilon(double epsilon) {
  const T rounded = static_cast<T>(epsilon);
  return rounded > epsilon ? std::nextafter(rounded, -std::numeric_limits<T>::infinity()) : rounded;
}

template <typename T>
UnitCounter<T>::UnitCounter(const UnitGrid& grid, T epsilon, T* flags, int64_t begin)
    : grid_(grid), epsilon_(epsilon), flags_(flags) {
  std::fill(flags, flags + grid.flag_count, T{0});
  if (begin == 0) return;
  if (grid.flags == UnitGrid::Flags::kPerElement) flag_ = begin % grid.flag_count;
  if (grid.flags == UnitGrid::Flags::kPerUnit) {
    flag_ = begin / grid.inner % grid.units;
    in_run_ = begin % grid.inner;
  }
}

template <typename T>
void UnitCounter<T>::add(const T* x, int64_t n) {
  switch (grid_.flags) {
    case UnitGrid::Flags::kNone:
      active_ += kernels<T>().count_active(x, n, epsilon_);
      break;
    case UnitGrid::Flags::kPerElement:
      add_rows(x, n);
      break;
    case UnitGrid::Flags::kPerUnit:
      add_runs(x, n);
      break;
  }
}

template <typename T>
void UnitCounter<T>::add_rows(const T* x, int64_t n) {
  while (n > 0) {
    const int64_t part = std::min(n, grid_.flag_count - flag_);
    active_ += kernels<T>().flag_active(x, part, epsilon_, flags_ + flag_);
    flag_ += part;
    if (flag_ == grid_.flag_count) flag_ = 0;
    x += part;
    n -= part;
  }
}

template <typename T>
void UnitCounter<T>::add_runs(const T* x, int64_t n) {
  while (n > 0) {
    // The rest of a run that was begun or as much of one as there is, else whole runs up to the last unit.
    const bool whole = in_run_ == 0 && n >= grid_.inner;
    const int64_t length = whole ? grid_.inner : std::min(n, grid_.inner - in_run_);
    const int64_t runs = whole ? std::min(n / grid_.inner, grid_.units - flag_) : 1;
    active_ += kernels<T>().flag_active_runs(x, length, runs, epsilon_, flags_ + flag_);
    in_run_ += length;
    if (whole || in_run_ == grid_.inner) {
      in_run_ = 0;
      flag_ += runs;
      if (flag_ == grid_.units) flag_ = 0;
    }
    x += length * runs;
    n -= length * runs;
  }
}

template <typename T>
int64_t count_dead(const UnitGrid& grid, int64_t active, T* flags, int64_t chunks) {
  if (grid.flags == UnitGrid::Flags::kNone) return grid.units - active;
  const int64_t inner = grid.flags == UnitGrid::Flags::kPerUnit ? 1 : grid.inner;
  const int64_t row = grid.units * inner;
  // More than 0 is a flag too from here on: add up those of the same element.
  for (int64_t at = row; at < chunks * grid.flag_count; at += row) {
    for (int64_t i = 0; i < row; ++i) flags[i] += flags[at + i];
  }
  if (inner == 1) return grid.units - kernels<T>().count_active(flags, grid.units, T{0});
  int64_t dead = 0;
  for (const T* unit = flags; unit != flags + row; unit += inner) {
    if (std::all_of(unit, unit + inner, [](T flag) { return flag == 0; })) ++dead;
  }
  return dead;
}

template double round_epsilon(double);
template float round_epsilon(double);
template class UnitCounter<float>;
template class UnitCounter<double>;
template int64_t count_dead(const UnitGrid&, int64_t, float*, int64_t);
template int64_t count_dead(const UnitGrid&, int64_t, double*, int64_t);

}  // namespace loupe::measure
