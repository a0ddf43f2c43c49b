#pragma once

#include <unordered_map>
#include <vector>

#include "torch/redirect/model_code.h"

namespace loupe {

/// Tells from where a program calls backward(). Where little is optimized, LibTorch's inline functions are functions of
/// the program's own, and every call would come from the same place in them. One thread at a time.
class CallOrigins {
 public:
  /// The place in the trainer's code, below that function, for the place in it; on the stack that the call is made on.
  const void* of(const void* place);

 private:
  /// The inline functions that the place is in; null where it is the trainer's own code.
  const std::vector<CodeRange>* inline_code_at(const void* place);

  std::unordered_map<const void*, std::vector<CodeRange>> inline_code_;    // by object
  std::unordered_map<const void*, const std::vector<CodeRange>*> places_;  // those asked for before
};

}  // namespace loupe
