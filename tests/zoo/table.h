#pragma once

#include <ostream>
#include <vector>

#include "zoo/verdict.h"

namespace zoo {

/// A line a run, what was told wrongly or not at all under it, and precision and recall at the end.
void print_table(const std::vector<Outcome>& outcomes, std::ostream& out);

/// An array with an object a run.
void print_json(const std::vector<Outcome>& outcomes, std::ostream& out);

}  // namespace zoo
