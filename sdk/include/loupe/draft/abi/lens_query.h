/* A draft: it may change or go without notice. Lenses that answer queries for numbers. */
#pragma once

#include <loupe/abi/lens.h>

#define LOUPE_DRAFT_LENS_QUERY_ID "loupe.lens_query/draft-1"

/* The extension LOUPE_DRAFT_LENS_QUERY_ID of a loupe_lens, whose `self` is the function's first argument. */
typedef struct loupe_draft_lens_query {
  uint32_t struct_size, reserved;
  /* A number of the last report by a key that the lens defines, for example "train_loss median". NOT_FOUND for an
   * unknown key. */
  /* @thread trainer @state attached @reenter none @owns borrows key @since 1.0 */
  loupe_status (*query)(void* self, const char* key, double* value, loupe_error* error);
} loupe_draft_lens_query;
