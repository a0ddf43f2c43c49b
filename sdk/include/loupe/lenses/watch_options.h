#pragma once

#include <loupe/abi/builtin.h>
#include <loupe/detail/option_values.h>
#include <loupe/options.h>

#include <string>

namespace loupe {
inline namespace v1_0 {

/// The option `gradient`: when a lens looks at gradients.
inline Option gradient_option() {
  return {"gradient",
          "accumulated",
          "accumulated: after each backward; step: once a step, as the optimizer is about to use it, so after clipping",
          {"accumulated", "step"}};
}

inline const char* gradient_gatherer(const Options& options) {
  return options.get<std::string>("gradient") == "step" ? LOUPE_GATHER_STEP_GRADIENT : LOUPE_GATHER_PARAMETER_GRADIENT;
}

/// The option `output`, of lenses that look at what modules give: which of a module's outputs. The gatherers `forward`
/// and `output_gradient` take it as it is.
inline Option output_option() {
  return {"output", 0, "which output of a module that gives several, from 0: an attention's weights are its output 1",
          0, 1e6};
}
inline OptionValues output_of(const Options& options) {
  return {{"output", options.get<int>("output")}};
}

}  // namespace v1_0
}  // namespace loupe
