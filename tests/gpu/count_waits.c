/* Intercepts calls of CUDA's runtime, and counts those in which a program waits for its device. It is the first of the
   trainer's libraries, so that LibTorch's calls come here. It needs no part of CUDA; without CUDA, it counts
   nothing. */
#define _GNU_SOURCE
#include "count_waits.h"

#include <dlfcn.h>
#include <stddef.h>

static long synchronizations, copies, allocations;

static void count(long* counter) {
  __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

struct waits count_waits(void) {
  const struct waits now = {__atomic_load_n(&synchronizations, __ATOMIC_RELAXED),
                            __atomic_load_n(&copies, __ATOMIC_RELAXED),
                            __atomic_load_n(&allocations, __ATOMIC_RELAXED)};
  return now;
}

enum { not_supported = 801, device_to_host = 2, by_address = 4 };

/* FORWARD(NAME, PARAMETERS, ARGUMENTS, COUNTED): runs COUNTED, then calls the runtime's function NAME. */
#define FORWARD(name, parameters, arguments, counted)                   \
  __attribute__((visibility("default"))) int name parameters {          \
    static int(*function) parameters;                                   \
    if (function == NULL) *(void**)&function = dlsym(RTLD_NEXT, #name); \
    counted;                                                            \
    return function != NULL ? function arguments : not_supported;       \
  }

FORWARD(cudaDeviceSynchronize, (void), (), count(&synchronizations))
FORWARD(cudaStreamSynchronize, (void* stream), (stream), count(&synchronizations))
FORWARD(cudaEventSynchronize, (void* event), (event), count(&synchronizations))
FORWARD(cudaMemcpy, (void* to, const void* from, size_t bytes, int kind), (to, from, bytes, kind),
        count(&synchronizations))
FORWARD(cudaMemcpyAsync, (void* to, const void* from, size_t bytes, int kind, void* stream),
        (to, from, bytes, kind, stream), if (kind == device_to_host || kind == by_address) count(&copies))
FORWARD(cudaMalloc, (void** memory, size_t bytes), (memory, bytes), count(&allocations))
FORWARD(cudaFree, (void* memory), (memory), count(&allocations))
