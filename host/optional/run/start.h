#pragma once

#include "preload/boundary.h"

namespace loupe {

/// The table by which libloupe_run.so starts the part.
extern const RunTable run_table;

}  // namespace loupe
