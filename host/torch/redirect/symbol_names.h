#pragma once

#include <string>

namespace loupe {

/// The name under which a function is exported; empty when its object does not export it. Any thread.
std::string symbol_of(const void* function);

/// Gives back the memory that symbol_of keeps for the next call, some megabytes.
void forget_symbol_names();

}  // namespace loupe
