#pragma once

#include <loupe/plugin.h>

#include <vector>

namespace loupe {

/// The options `record_eval` and `evaluation_from_grad`: which forwards count.
inline std::vector<Option> pass_options() {
  return {{"record_eval", false, "count evaluation passes too"},
          {"evaluation_from_grad", false,
           "a pass is an evaluation when gradients are off, rather than when the module is in eval mode"}};
}

inline void request_passes(const Options& options, Request& request) {
  request.passes = options.get<bool>("record_eval") ? LOUPE_PASS_BOTH : LOUPE_PASS_TRAINING;
  request.pass_by_grad = options.get<bool>("evaluation_from_grad");
}

}  // namespace loupe
