#pragma once

#include <loupe/plugin.h>

#include <vector>

namespace loupe {
inline namespace v1_0 {

// Options that select the streams of a module or parameter for a lens.

inline Option gradient_option() {
  return {"gradient",
          "accumulated",
          "accumulated: after each backward; step: once a step, as the optimizer is about to use it, that is after "
          "clipping",
          {"accumulated", "step"}};
}
inline const char* gradient_gatherer(const Options& options) {
  return options.get<std::string>("gradient") == "step" ? LOUPE_GATHER_STEP_GRADIENT : LOUPE_GATHER_PARAMETER_GRADIENT;
}

/// The index of a module's output. The gatherers `forward` and `output_gradient` have the same option.
inline Option output_option() {
  return {"output", 0, "which output of a module with several, from 0: an attention's weights are its output 1", 0,
          1e6};
}
inline OptionValues output_of(const Options& options) {
  return {{"output", options.get<int>("output")}};
}

/// The forwards that count. Preprocessors of outputs have these options, and lenses pass them on.
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
