#ifndef LOUPE_TORCH_TAPS_TIMED_STEP_H
#define LOUPE_TORCH_TAPS_TIMED_STEP_H

namespace loupe {

/// A step is over, and all that Loupe does after it. Where the next one is timed, autograd tells of its nodes until
/// that is over too. On the thread that took the step.
void step_is_over();

}  // namespace loupe

#endif
