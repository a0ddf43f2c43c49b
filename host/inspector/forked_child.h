#pragma once

namespace loupe {

/// From now on a forked child begins with nothing attached: what its parent's inspectors watch is not watched there, so
/// that the child waits for no lock of a thread that it does not have. The same again does nothing. Any thread.
void leave_models_at_forks();

}  // namespace loupe
