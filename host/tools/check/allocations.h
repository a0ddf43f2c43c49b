#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace loupe::check {

/// Counts from now on how often each thread allocates, by malloc and its relatives, in all libraries loaded so far:
/// operator new, C's calls and Rust's. The process keeps its allocator. Returns false if nothing can be counted.
bool count_allocations();
/// How often this thread allocated.
uint64_t allocations();

/// Measures the cost of a component's own part of an event.
class Meter {
 public:
  template <class Event>
  auto around(Event&& event) {
    const uint64_t allocated = check::allocations();
    const auto start = std::chrono::steady_clock::now();
    const auto result = event();
    const auto end = std::chrono::steady_clock::now();
    allocations_ += check::allocations() - allocated;
    nanoseconds_.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count());
    return result;
  }
  std::size_t events() const { return nanoseconds_.size(); }
  uint64_t allocations() const { return allocations_; }
  /// Needs at least one event.
  int64_t median_nanoseconds() const {
    std::vector<int64_t> sorted = nanoseconds_;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
    return sorted[sorted.size() / 2];
  }

 private:
  uint64_t allocations_ = 0;
  std::vector<int64_t> nanoseconds_;
};

}  // namespace loupe::check
