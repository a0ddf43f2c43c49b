#pragma once

#include "measure/measurer.h"

namespace loupe {

/// Runs the parts of a range on all threads of LibTorch (torch::set_num_threads), or on the calling thread if there are
/// fewer parts.
measure::ParallelFor threads_of_libtorch();

}  // namespace loupe
