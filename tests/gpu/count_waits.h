#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/// The calls of CUDA's runtime by this process so far, in all its libraries together.
struct waits {
  long synchronizations;  ///< calls that return only when the device has reached a point
  long copies;            ///< copies to the host in a stream; if the host memory is pageable, they wait, too
  long allocations;       ///< allocations and releases of device memory that bypass the caching allocator
};

__attribute__((visibility("default"))) struct waits count_waits(void);

#ifdef __cplusplus
}
#endif
