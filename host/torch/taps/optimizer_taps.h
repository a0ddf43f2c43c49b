#pragma once

#include <memory>

#include "core/shared.h"

namespace torch::optim {
class Optimizer;
}

namespace loupe {

class WatchedModel;

/// Declares the steps of LibTorch's optimizers to the redirections (the compiler may call them past the virtual
/// table), and where any optimizer clears its gradients, by which one that nobody attached is met; once.
void declare_optimizer_taps();

/// Tells the attachment before and after each step of the optimizer, and of any other that holds parameters of its
/// model: of LibTorch's types at once, of others' from when they clear their gradients. Under a hold of the
/// redirections.
void tap_optimizer(torch::optim::Optimizer& optimizer, const std::shared_ptr<WatchedModel>& attachment);
/// The same for any optimizer that is later seen to hold its parameters.
void await_optimizers(const std::shared_ptr<WatchedModel>& attachment);
/// Makes the steps of LibTorch's own optimizers pass the taps, attached or not. Under a hold of the redirections.
LOUPE_SHARED void await_optimizers();
void forget_optimizers(const WatchedModel* attachment);

/// Whether an optimizer is in a step on any thread, or has just taken one that was not reported yet.
bool any_step_runs();

/// Whether a step can be called without any tap seeing it: the type is the user's own.
bool may_step_unseen(const torch::optim::Optimizer& optimizer);

}  // namespace loupe
