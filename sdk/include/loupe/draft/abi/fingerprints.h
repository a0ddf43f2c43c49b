/* A draft: it may change or go without notice. Numbers by which tensors on a device are compared between processes. */
#pragma once

#include <loupe/abi/tensors.h>

#define LOUPE_DRAFT_FINGERPRINTS_ID "loupe.fingerprints/draft-1"

/* Host service LOUPE_DRAFT_FINGERPRINTS_ID. */
typedef struct loupe_draft_fingerprint_service {
  uint32_t struct_size, reserved;
  /* Lets the tensor's device add up the bits of the elements in its queue: of all, or of a sample that depends on the
   * shape alone. The same elements have the same sum, in whatever order a device adds. Waits for no device.
   * UNSUPPORTED where the device cannot. */
  /* @thread any @state always @reenter none @owns caller releases the handle @since 1.0 */
  loupe_status (*take)(void* context, const loupe_tensor* tensor, loupe_retained** sum, loupe_error* error);
  /* Reads `count` sums that take() gave. Waits for their devices, once for each: for a tick, not for a hook. */
  /* @thread any @state always @reenter none @owns borrows sums; caller's buffer @since 1.0 */
  loupe_status (*read)(void* context, const loupe_retained* const* sums, size_t count, uint64_t* values,
                       loupe_error* error);
} loupe_draft_fingerprint_service;
