#ifndef LOUPE_TESTS_MEASURE_ALLOCATIONS_H
#define LOUPE_TESTS_MEASURE_ALLOCATIONS_H

namespace loupe::measure {

/// How many times this program has called operator new.
int allocations();

}  // namespace loupe::measure

#endif
