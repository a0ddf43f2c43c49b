#pragma once

namespace torch::optim {
class Optimizer;
}

namespace loupe {

/// A step is over, and all that Loupe does after it. Where the next one is timed, autograd tells of its nodes until
/// that is over too. On the thread that took the step.
/// @param optimizer  that took it; null where the trainer told of it
void step_is_over(const torch::optim::Optimizer* optimizer = nullptr);

/// Whether callbacks may be added to those that LibTorch calls on this thread. It keeps them in an object of the
/// thread's own, which is gone where a model runs in the destructor of a static or thread_local object.
bool can_add_thread_callbacks();

/// Autograd tells this thread of its nodes, or no longer, as its step is timed or not. For where a forward begins:
/// where a step was over within a backward pass, autograd has undone that.
void follow_timed_step();

}  // namespace loupe
