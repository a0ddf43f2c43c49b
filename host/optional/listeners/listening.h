#pragma once

#include <memory>
#include <string>

#include "torch/all_taps.h"
#include "torch/model/tap_point.h"
#include "torch/redirect/redirections.h"

namespace loupe {

/// While it lives, all functions of LibTorch that have taps are redirected.
class HeldRedirections {
 public:
  HeldRedirections() {
    declare_all_taps();
    Redirections::instance().hold();
  }
  ~HeldRedirections() { Redirections::instance().release(); }
  HeldRedirections(const HeldRedirections&) = delete;
  HeldRedirections& operator=(const HeldRedirections&) = delete;
};

/// A listener at one module for as long as this lives. The module may die first.
class Listening {
 public:
  /// @param first  put it before the module's present watchers
  /// Throws std::invalid_argument for a module whose forward cannot be seen, with the reason.
  Listening(torch::nn::Module& module, std::shared_ptr<ForwardListener> listener, bool first = false);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  const HeldRedirections redirections_;
  std::shared_ptr<std::atomic<bool>> active_ = std::make_shared<std::atomic<bool>>(true);
  std::shared_ptr<TapPoint> point_ = std::make_shared<TapPoint>();
};

}  // namespace loupe
