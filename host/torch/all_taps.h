#pragma once

namespace loupe {

/// Declares every function of LibTorch that taps may redirect; once, before anything is redirected.
void declare_all_taps();

/// Keeps all of them redirected while it lives.
class HeldRedirections {
 public:
  HeldRedirections();
  ~HeldRedirections();
  HeldRedirections(const HeldRedirections&) = delete;
  HeldRedirections& operator=(const HeldRedirections&) = delete;
};

}  // namespace loupe
