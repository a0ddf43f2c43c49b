#pragma once

#include "core/shared.h"

namespace loupe {

/// Declares every function of LibTorch that taps may redirect; once, before anything is redirected.
LOUPE_SHARED void declare_all_taps();

}  // namespace loupe
