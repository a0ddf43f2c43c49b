#pragma once

namespace loupe {

/// Declares every function of LibTorch that taps may redirect; once, before anything is redirected.
void declare_all_taps();

}  // namespace loupe
