#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace loupe::check {

/// From now on counts how often each thread asks for memory by malloc and its kin, in all libraries that are loaded
/// now: operator new, C's own calls and Rust's alike. For the process that examines a plugin: whatever allocator it
/// runs with stays the one that answers. False where nothing can be counted.
bool count_allocations();
/// How often this thread did.
uint64_t allocations();

/// What the component's own part of events costs.
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
  /// Of at least one event.
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
