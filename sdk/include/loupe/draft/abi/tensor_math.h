/* A draft: it may change or go without notice. What the host computes of whole tensors. */
#pragma once

#include <loupe/abi/tensors.h>

#define LOUPE_DRAFT_TENSOR_MATH_ID "loupe.tensor_math/draft-1"

/* The ways to fold tensors into one. */
enum { LOUPE_DRAFT_FOLD_SUM = 1, LOUPE_DRAFT_FOLD_MEAN = 2, LOUPE_DRAFT_FOLD_MAX = 3, LOUPE_DRAFT_FOLD_MIN = 4 };

/* Host service LOUPE_DRAFT_TENSOR_MATH_ID. */
typedef struct loupe_draft_tensor_math_service {
  uint32_t struct_size, reserved;
  /* The singular values of a matrix, largest first; count is min(rows, columns). More than two dimensions are flattened
   * from dim 1. Slow: for a tick, not for a hook. */
  /* @thread any @state always @reenter none @owns caller's buffer of `capacity` doubles @since 1.0 */
  loupe_status (*singular_values)(void* context, const loupe_tensor* matrix, double* values, size_t capacity,
                                  size_t* count, loupe_error* error);
  /* A clone, as loupe_tensor_service has it, of item `item` along dimension 0. */
  /* @thread any @state always @reenter none @owns caller releases the handle @since 1.0 */
  loupe_status (*clone_item)(void* context, const loupe_tensor* tensor, int64_t item, loupe_retained** kept,
                             loupe_error* error);
  /* Makes a clone, in place, the LOUPE_DRAFT_FOLD_SUM, MEAN, MAX or MIN of `count` tensors folded so far and one more
   * of the same shape. Waits for no device. */
  /* @thread any @state always @reenter none @owns borrows tensor @since 1.0 */
  loupe_status (*fold)(void* context, loupe_retained* into, const loupe_tensor* tensor, uint32_t aggregation,
                       uint64_t count, loupe_error* error);
} loupe_draft_tensor_math_service;
