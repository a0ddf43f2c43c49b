#include "inspector/thread_pool.h"

#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>

namespace loupe {
namespace {

void run_in_parallel(int64_t begin, int64_t end, int64_t grain, measure::ParallelBody body, void* context) {
  const int64_t threads = at::get_num_threads(), grains = (end - begin + grain - 1) / grain;
  if (threads == 1 || grains < threads || at::in_parallel_region()) return body(context, begin, end);
  // at::parallel_for is a template that becomes OpenMP code in the file that includes it, and so brings the compiler's
  // OpenMP runtime into the program, with its own threads beside those of LibTorch's. An iterator over a tensor runs on
  // these. The tensor has an element for each thread, which nobody reads.
  char place = 0;
  const at::Tensor elements = at::from_blob(&place, {threads}, at::kByte);
  at::TensorIterator::borrowing_nullary_op(elements).for_each(
      [&](char** data, const int64_t*, int64_t count) {
        // Parts that differ by one grain at most.
        const int64_t first = data[0] - &place;
        const int64_t from = begin + first * grains / threads * grain;
        const int64_t to = std::min(end, begin + (first + count) * grains / threads * grain);
        if (from < to) body(context, from, to);
      },
      /*grain_size=*/1);
}

}  // namespace

measure::ParallelFor threads_of_libtorch() {
  return &run_in_parallel;
}

}  // namespace loupe
