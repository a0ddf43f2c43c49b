#pragma once

#include <loupe/plugin.h>

#include <vector>

namespace loupe {
inline namespace v1_0 {

// Options by which lenses choose what they are given of a module or parameter.

inline Option gradient_option() {
  return {"gradient",
          "accumulated",
          "accumulated: after each backward; step: once a step, as the optimizer is about to use it, so after clipping",
          {"accumulated", "step"}};
}
inline const char* gradient_gatherer(const Options& options) {
  return options.get<std::string>("gradient") == "step" ? LOUPE_GATHER_STEP_GRADIENT : LOUPE_GATHER_PARAMETER_GRADIENT;
}

/// Which of a module's outputs. The gatherers `forward` and `output_gradient` take it as it is.
inline Option output_option() {
  return {"output", 0, "which output of a module that gives several, from 0: an attention's weights are its output 1",
          0, 1e6};
}
inline OptionValues output_of(const Options& options) {
  return {{"output", options.get<int>("output")}};
}

/// Which forwards count. Preprocessors of outputs have these options, and lenses hand them on.
inline std::vector<Option> pass_options() {
  return {{"record_eval", false, "count evaluation passes too"},
          {"evaluation_from_grad", false,
           "a pass is an evaluation when gradients are off, rather than when the module is in eval mode"}};
}
inline void add_pass_options(const Options& options, OptionValues& values) {
  for (const char* name : {"record_eval", "evaluation_from_grad"}) values.add({name, options.get<bool>(name)});
}
inline void request_passes(const Options& options, Request& request) {
  request.passes = options.get<bool>("record_eval") ? LOUPE_PASS_BOTH : LOUPE_PASS_TRAINING;
  request.pass_by_grad = options.get<bool>("evaluation_from_grad");
}

}  // namespace v1_0
}  // namespace loupe
