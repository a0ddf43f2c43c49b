#pragma once

#include <loupe/plugin.h>

namespace loupe {
inline namespace v1_0 {

inline Option gradient_option() {
  return {"gradient",
          "accumulated",
          "accumulated: after each backward; step: once a step, as the optimizer is about to use it, so after clipping",
          {"accumulated", "step"}};
}

inline const char* gradient_gatherer(const Options& options) {
  return options.get<std::string>("gradient") == "step" ? LOUPE_GATHER_STEP_GRADIENT : LOUPE_GATHER_PARAMETER_GRADIENT;
}

}  // namespace v1_0
}  // namespace loupe
