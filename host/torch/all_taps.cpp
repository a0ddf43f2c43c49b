#include "torch/all_taps.h"

#include "torch/model/module_types.h"
#include "torch/redirect/symbols.h"
#include "torch/taps/early_clips.h"
#include "torch/taps/function_taps.h"
#include "torch/taps/optimizer_taps.h"
#include "torch/taps/script_calls.h"

namespace loupe {

void declare_all_taps() {
  [[maybe_unused]] static const bool once = [] {
    declare_forward_taps();
    declare_function_taps();
    declare_loss_function_taps();
    declare_optimizer_taps();
    declare_clip_taps();
    declare_script_taps();
    forget_symbol_names();
    return true;
  }();
}

}  // namespace loupe
