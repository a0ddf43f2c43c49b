/* A draft: it may change or go without notice. Views of tensors for libraries that speak DLPack. */
#ifndef LOUPE_DRAFT_ABI_DLPACK_H
#define LOUPE_DRAFT_ABI_DLPACK_H

#include <loupe/abi/tensors.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOUPE_DRAFT_DLPACK_ID "loupe.dlpack/draft-1"

/* Host service LOUPE_DRAFT_DLPACK_ID. */
typedef struct loupe_draft_dlpack_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* Fills a DLTensor of DLPack's own header, which is the caller's and of `size` bytes, with a borrowed view of the
   * same memory: valid as long as `tensor` is, in the order of `tensor`'s stream, and not to be written to. UNSUPPORTED
   * where DLPack has no such type or device. */
  /* @thread any @state always @reenter none @owns caller's struct, which borrows from tensor @since 1.0 */
  loupe_status (*lend)(void* host, const loupe_tensor* tensor, void* dl_tensor, size_t size, loupe_error* error);
} loupe_draft_dlpack_service;

#ifdef __cplusplus
}
#endif

#endif
