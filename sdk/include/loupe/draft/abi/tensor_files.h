/* A draft: it may change or go without notice. Tensors in files. */
#pragma once

#include <loupe/abi/tensors.h>

#define LOUPE_DRAFT_TENSOR_FILES_ID "loupe.tensor_files/draft-1"

enum { LOUPE_DRAFT_SAVE_LIST = 1u << 0 /* a list of tensors, even of one; otherwise the first tensor alone */ };

/* Host service LOUPE_DRAFT_TENSOR_FILES_ID. */
typedef struct loupe_draft_tensor_file_service {
  uint32_t struct_size, reserved;
  /* Writes a file that torch.load reads, in C++ and Python. `flags`: LOUPE_DRAFT_SAVE_ bits. */
  /* @thread any @state always @reenter none @owns borrows tensors and path @since 1.0 */
  loupe_status (*save)(void* context, const loupe_retained* const* tensors, size_t count, uint32_t flags,
                       const char* path, loupe_error* error);
} loupe_draft_tensor_file_service;
