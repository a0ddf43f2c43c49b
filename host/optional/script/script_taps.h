#pragma once

#include "torch/taps/script_calls.h"

namespace loupe {

/// A script of an attached model reports its forwards as other modules do: while it runs, on that thread, its operators
/// are listened to.
extern const ScriptTable script_table;

}  // namespace loupe
