#pragma once

namespace torch::optim {
class Optimizer;
}

namespace loupe {

/// Ends a step, after all that Loupe does at its end. If the next one is timed, autograd reports its nodes until that
/// one ends. On the thread that took the step.
/// @param optimizer  that took it; null if the trainer reported it
void step_is_over(const torch::optim::Optimizer* optimizer = nullptr);

/// Whether callbacks may be added to those that LibTorch calls on this thread. It keeps them in an object of the
/// thread's own, which is gone where a model runs in the destructor of a static or thread_local object.
bool can_add_thread_callbacks();

/// Makes autograd report its nodes to this thread while its step is timed, and no longer. At the start of a forward:
/// autograd undoes it where a step ends within a backward pass.
void follow_timed_step();

}  // namespace loupe
