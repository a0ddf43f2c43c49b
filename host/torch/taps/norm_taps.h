#pragma once

namespace torch::nn {
class Module;
}

namespace loupe {

/// Batch and instance normalization: their forward is a template that is compiled into the program, so it is seen by
/// the two calls that it makes into LibTorch: the virtual check of the input's dimensions, and the operator.
bool is_tappable_norm(const torch::nn::Module& module);
void declare_norm_taps();
/// Redirects the check in the virtual table of a module's type; under a hold of the redirections. False where one of
/// the two calls cannot be redirected.
bool tap_norm(const torch::nn::Module& module);
/// Closes the forward that this thread left by an exception between the two calls.
void close_stale_norm();

}  // namespace loupe
