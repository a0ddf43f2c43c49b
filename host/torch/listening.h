#pragma once

#include <memory>
#include <string>

#include "core/shared.h"
#include "torch/all_taps.h"
#include "torch/model/tap_point.h"

namespace loupe {

/// A listener at one module for as long as this lives. The module may die first.
class Listening {
 public:
  /// @param first  before those that watch the module already
  /// Throws std::invalid_argument for a module whose forward cannot be seen, with the reason.
  LOUPE_SHARED Listening(torch::nn::Module& module, std::shared_ptr<ForwardListener> listener, bool first = false);
  LOUPE_SHARED ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  const HeldRedirections redirections_;
  std::shared_ptr<std::atomic<bool>> active_ = std::make_shared<std::atomic<bool>>(true);
  std::shared_ptr<TapPoint> point_ = std::make_shared<TapPoint>();
};

}  // namespace loupe
