#pragma once

#include "port/alignment.h"
#include "port/record.h"

namespace loupe::port {

/// Where a module runs more often in one record, as where the other calls a function once in its place: gives the calls
/// of the other the numbers of those that they are.
void align_calls(Record& first, Record& second, const Alignment& alignment);

}  // namespace loupe::port
