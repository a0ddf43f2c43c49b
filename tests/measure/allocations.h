#pragma once

namespace loupe::measure {

/// How many times this program has called operator new.
int allocations();

}  // namespace loupe::measure
