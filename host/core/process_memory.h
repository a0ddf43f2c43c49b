#pragma once

#include <optional>

namespace loupe {

/// What this process holds in main memory, in bytes; nullopt where the system does not tell.
std::optional<double> process_memory();

}  // namespace loupe
