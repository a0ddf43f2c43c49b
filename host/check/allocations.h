#pragma once

#include <cstdint>

namespace loupe::check {

/// From now on counts how often each thread asks for memory by malloc and its kin, in all libraries that are loaded
/// now: operator new, C's own calls and Rust's alike. For the process that examines a plugin: whatever allocator it
/// runs with stays the one that answers. False where nothing can be counted.
bool count_allocations();
/// How often this thread did.
uint64_t allocations();

}  // namespace loupe::check
