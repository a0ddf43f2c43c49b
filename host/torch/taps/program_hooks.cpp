#include "torch/taps/program_hooks.h"

namespace loupe {

std::atomic<const ProgramHooks*> program_hooks{nullptr};

}  // namespace loupe
