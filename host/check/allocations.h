#ifndef LOUPE_CHECK_ALLOCATIONS_H
#define LOUPE_CHECK_ALLOCATIONS_H

#include <cstdint>

namespace loupe::check {

/// How often this thread has asked for memory, in this program and all that it has loaded.
uint64_t allocations();
/// False where another takes the place of malloc, as a sanitizer does: then nothing is counted.
extern const bool counts_allocations;

}  // namespace loupe::check

#endif
