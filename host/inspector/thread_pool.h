#pragma once

#include "measure/measurer.h"

namespace loupe {

/// What runs the parts of a range on all of LibTorch's own threads, as many as torch::set_num_threads says, or on the
/// calling thread where there are fewer parts. Null where LibTorch does not stand on OpenMP: large tensors are then
/// measured by the calling thread.
measure::ParallelFor threads_of_libtorch();

}  // namespace loupe
