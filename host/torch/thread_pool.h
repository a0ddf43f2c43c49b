#ifndef LOUPE_TORCH_THREAD_POOL_H
#define LOUPE_TORCH_THREAD_POOL_H

namespace loupe {

/// Lends LibTorch's own threads to the measuring of large tensors, as many as torch::set_num_threads says. Does nothing
/// where LibTorch does not stand on OpenMP: large tensors are then measured by the calling thread.
void lend_threads_to_measuring();

}  // namespace loupe

#endif
