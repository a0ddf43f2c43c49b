#include "inspector/thread_pool.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <algorithm>

// at::parallel_for is a template that becomes OpenMP code in the file that includes it, which would bring the
// compiler's OpenMP runtime into the program, with its own threads beside LibTorch's. This uses the threads of the
// runtime that is already loaded, through the entry that compilers call (GCC's, which LLVM's and Intel's also offer).

namespace loupe {
namespace {

struct OpenMp {
  void (*parallel)(void (*body)(void*), void* context, unsigned threads, unsigned flags) = nullptr;
  int (*thread_number)() = nullptr;
  int (*thread_count)() = nullptr;
  int (*in_parallel)() = nullptr;

  static const OpenMp& instance() {
    static const OpenMp runtime = [] {
      OpenMp found;
      find("GOMP_parallel", found.parallel);
      find("omp_get_thread_num", found.thread_number);
      find("omp_get_num_threads", found.thread_count);
      find("omp_in_parallel", found.in_parallel);
      return found;
    }();
    return runtime;
  }
  bool complete() const {
    return parallel != nullptr && thread_number != nullptr && thread_count != nullptr && in_parallel != nullptr;
  }

 private:
  template <class Function>
  static void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  }
};

struct Range {
  int64_t begin, end, grain;
  measure::ParallelBody body;
  void* context;

  /// The work of one thread; the parts differ by at most one grain.
  static void run(void* self) {
    const auto& range = *static_cast<const Range*>(self);
    const OpenMp& runtime = OpenMp::instance();
    const int64_t number = runtime.thread_number(), count = runtime.thread_count();
    const int64_t grains = (range.end - range.begin + range.grain - 1) / range.grain;
    const int64_t from = range.begin + number * grains / count * range.grain;
    const int64_t to = std::min(range.end, range.begin + (number + 1) * grains / count * range.grain);
    if (from < to) range.body(range.context, from, to);
  }
};

void run_in_parallel(int64_t begin, int64_t end, int64_t grain, measure::ParallelBody body, void* context) {
  const OpenMp& runtime = OpenMp::instance();
  const int64_t threads = at::get_num_threads(), grains = (end - begin + grain - 1) / grain;
  const bool is_worth_all = threads > 1 && grains >= threads;
  if (!is_worth_all || runtime.in_parallel() != 0 || at::in_parallel_region()) return body(context, begin, end);
  Range range{begin, end, grain, body, context};
  // Use as many threads as LibTorch's regions: for another number the runtime would restart its threads.
  runtime.parallel(&Range::run, &range, 0, 0);
}

}  // namespace

measure::ParallelFor threads_of_libtorch() {
  return OpenMp::instance().complete() ? &run_in_parallel : nullptr;
}

}  // namespace loupe
