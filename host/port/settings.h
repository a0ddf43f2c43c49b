#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "port/record.h"

namespace loupe::port {

/// What is set otherwise in one of two modules or optimizers, "eps is 1e-05 in Python and 0.001 in C++", as far as both
/// say, in whatever way their languages print it.
std::vector<std::string> other_settings(const Module& a, const Module& b, const Record& first, const Record& second);
/// The same of the optimizers at a step. A line for each setting, with the group where there are several.
std::vector<std::string> other_settings(uint64_t step, const Record& first, const Record& second);

/// "twice in C++ and once in Python".
std::string times_text(std::size_t own, const Record& first, std::size_t theirs, const Record& second);

}  // namespace loupe::port
