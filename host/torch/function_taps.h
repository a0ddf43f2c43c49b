#ifndef LOUPE_TORCH_FUNCTION_TAPS_H
#define LOUPE_TORCH_FUNCTION_TAPS_H

namespace loupe {

/// Declares the functions that are tapped outside of modules, such as torch::relu, to the redirections; once.
void declare_function_taps();

}  // namespace loupe

#endif
