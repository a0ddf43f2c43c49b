#pragma once

#include "preload/boundary.h"

namespace loupe {

/// How the part is begun by libloupe_run.so.
extern const RunTable run_table;

}  // namespace loupe
