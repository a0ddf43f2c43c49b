#pragma once

#include "core/shared.h"

namespace loupe {

/// Declares every function of LibTorch that taps may redirect; once, before anything is redirected.
LOUPE_SHARED void declare_all_taps();

/// Keeps all of them redirected while it lives.
class HeldRedirections {
 public:
  LOUPE_SHARED HeldRedirections();
  LOUPE_SHARED ~HeldRedirections();
  HeldRedirections(const HeldRedirections&) = delete;
  HeldRedirections& operator=(const HeldRedirections&) = delete;
};

}  // namespace loupe
