#pragma once

#include <loupe/detail/option_values.h>

namespace loupe {
inline namespace v1_0 {

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
