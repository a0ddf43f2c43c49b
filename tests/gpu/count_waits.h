#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/// What this process has asked of CUDA's runtime so far, by all its libraries together.
struct waits {
  long synchronizations;  ///< calls that return once the device has got there
  long copies;            ///< copies to the host that were put into a stream; to pageable memory they wait, too
  long allocations;       ///< of the device's memory, and releases of it, past the caching allocator
};

__attribute__((visibility("default"))) struct waits count_waits(void);

#ifdef __cplusplus
}
#endif
