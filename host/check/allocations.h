#ifndef LOUPE_CHECK_ALLOCATIONS_H
#define LOUPE_CHECK_ALLOCATIONS_H

#include <cstdint>

namespace loupe::check {

/// How often this thread has asked for memory, by malloc or what comes to it, in this program and all that it has
/// loaded.
uint64_t allocations();
/// False where a sanitizer takes its place: then nothing is counted.
extern const bool counts_allocations;

}  // namespace loupe::check

#endif
