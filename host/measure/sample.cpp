#include "measure/sample.h"

#include <algorithm>
#include <cmath>

namespace loupe::measure {
namespace {

/// The last step of SplitMix64 (Steele, Lea and Flood 2014): numbers that follow one another come out unrelated.
uint64_t scrambled(uint64_t number) {
  number += 0x9e3779b97f4a7c15u;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
  number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
  return number ^ (number >> 31);
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
  // The upper 53 bits are a number from 0 to 1, of which a double holds every one.
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

}  // namespace loupe::measure
