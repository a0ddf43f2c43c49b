#ifndef LOUPE_TORCH_SCRIPT_TAPS_H
#define LOUPE_TORCH_SCRIPT_TAPS_H

#include <memory>

#include "torch/script_model.h"

namespace loupe {

/// Listens to the interpreter of TorchScript while this lives: a script of an attached model tells its forwards as
/// other modules do. One that nobody attached costs a look at it a forward; operators outside of scripts cost nothing.
class ScriptListening {
 public:
  ScriptListening();
  ~ScriptListening();
  ScriptListening(const ScriptListening&) = delete;
  ScriptListening& operator=(const ScriptListening&) = delete;
};

/// Reads the forward of a model that is about to be attached, and writes into each layer's `reach` what will be seen.
void prepare_script(const std::shared_ptr<ScriptModel>& model);

}  // namespace loupe

#endif
