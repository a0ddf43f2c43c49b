/* A draft: it may change or go without notice. Lenses that judge what all lenses report. */
#pragma once

#include <loupe/abi/lens.h>

#define LOUPE_DRAFT_ROWS_ID "loupe.rows/draft-1"

/* The extension LOUPE_DRAFT_ROWS_ID of a loupe_lens, whose `self` is the functions' first argument. The host asks for
 * it once, before attach(). */
typedef struct loupe_draft_rows {
  uint32_t struct_size, reserved;
  /* A number that a lens of this process reports; a number reported twice in a tick comes once. `layer` is the tag if
   * the number is the whole model's. */
  /* @thread trainer @state reporting, any lens @reenter none @owns borrows texts @since 1.0 */
  loupe_status (*number)(void* self, const char* tag, const char* layer, const char* line, double value,
                         loupe_error* error);
  /* All lenses have reported. The sink takes only findings. */
  /* @thread trainer @state attached @reenter none @owns borrows tick and sink @since 1.0 */
  loupe_status (*end)(void* self, const loupe_tick* tick, const loupe_sink* sink, loupe_error* error);
} loupe_draft_rows;
