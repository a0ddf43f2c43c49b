#ifndef LOUPE_TORCH_OPTIMIZER_TAPS_H
#define LOUPE_TORCH_OPTIMIZER_TAPS_H

#include <memory>

namespace c10 {
struct TensorImpl;
}
namespace torch::optim {
class Optimizer;
}

namespace loupe {

class Attachment;

/// Declares the steps of LibTorch's optimizers to the redirections (the compiler may call them past the virtual
/// table); once.
void declare_optimizer_taps();

/// Tells the attachment before and after each step of the optimizer, and of any other of its type that holds the same
/// parameters; under a hold of the redirections.
void tap_optimizer(torch::optim::Optimizer& optimizer, const std::shared_ptr<Attachment>& attachment);
void forget_optimizer(const Attachment* attachment);

/// The first parameter it holds, to compare with; null for none.
const c10::TensorImpl* first_parameter(const torch::optim::Optimizer& optimizer);

/// Whether a step can be called without any tap seeing it: the type is the user's own.
bool may_step_unseen(const torch::optim::Optimizer& optimizer);

}  // namespace loupe

#endif
