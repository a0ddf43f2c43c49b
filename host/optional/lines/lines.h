#pragma once

#include "core/call_stack.h"

namespace loupe {

/// Reads debug information by libdw.
extern const LinesTable lines_table;

}  // namespace loupe
