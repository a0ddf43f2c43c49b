#pragma once

#include "measure/measurer.h"

namespace loupe {

/// Runs the parts of a range on all threads of LibTorch (torch::set_num_threads), or on the calling thread if there are
/// fewer parts. Null if LibTorch does not use OpenMP: the calling thread then measures large tensors.
measure::ParallelFor threads_of_libtorch();

}  // namespace loupe
