#pragma once

#include <memory>

namespace loupe {

class ScriptModel;

/// Declares the calls of TorchScript's methods to the redirections; once. A script of an attached model tells its
/// forwards as other modules do: while it runs, on that thread alone, its operators are listened to.
void declare_script_taps();

/// Reads the forward of a model that is about to be attached, and writes into each layer's `visibility` what will be
/// seen. Under a hold of the redirections, if they are used.
void prepare_script(const std::shared_ptr<ScriptModel>& model);

}  // namespace loupe
