#pragma once

#include <memory>

#include "core/shared.h"

namespace torch::optim {
class Optimizer;
}

namespace loupe {

class WatchedModel;

/// Declares the steps of LibTorch's optimizers to the redirections (the compiler may call them past the virtual
/// table), and the function that clears gradients, which reveals unattached optimizers; once.
void declare_optimizer_taps();

/// Informs the attachment before and after each step of the optimizer, and of any other with parameters of its model:
/// for LibTorch's types at once, for others after they clear their gradients. Under a hold of the redirections.
void tap_optimizer(torch::optim::Optimizer& optimizer, const std::shared_ptr<WatchedModel>& attachment);
/// The same for any optimizer that is later seen to hold its parameters.
void await_optimizers(const std::shared_ptr<WatchedModel>& attachment);
/// Makes the steps of LibTorch's own optimizers pass the taps, attached or not. Under a hold of the redirections.
LOUPE_SHARED void await_optimizers();
void forget_optimizers(const WatchedModel* attachment);

/// Whether an optimizer is in a step on any thread, or has just taken one that is not yet reported.
bool any_step_runs();

/// Whether a step can be called without any tap seeing it: the type is the user's own.
bool may_step_unseen(const torch::optim::Optimizer& optimizer);

}  // namespace loupe
