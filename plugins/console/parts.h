#pragma once

#include <deque>
#include <string>

#include "console/table.h"

namespace loupe::console {

/// Says what a whole is made of, the largest part first: "Step Time 17 ms: forward 41 %, loss and backward 37 %". Of
/// the first plot whose parts have a unit; "" where there is none.
std::string parts_in_a_line(const std::deque<Table>& tables);

}  // namespace loupe::console
