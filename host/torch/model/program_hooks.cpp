#include "torch/model/program_hooks.h"

namespace loupe {

std::atomic<const ProgramHooks*> program_hooks{nullptr};
std::atomic<std::uint64_t> unseen_steps{0};

}  // namespace loupe
