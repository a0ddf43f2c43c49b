/* A draft: it may change or go without notice. What a host that is strict makes of an author's mistake. */
#ifndef LOUPE_DRAFT_ABI_MISTAKES_H
#define LOUPE_DRAFT_ABI_MISTAKES_H

#include <loupe/abi/lens.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOUPE_DRAFT_MISTAKES_ID "loupe.mistakes/draft-1"

/* The extension LOUPE_DRAFT_MISTAKES_ID of a loupe_wiring, whose `context` is the function's first argument. Offered
 * where mistakes are refused that are let pass in training: under LOUPE_CHECK=strict, in loupe::testing::Bench and by
 * `loupe check`. */
typedef struct loupe_draft_mistakes {
  uint32_t struct_size;
  uint32_t reserved;
  /* The lens asks for a series that its source does not have. INVALID, with a message that names those that it has; OK
   * where it may still come. */
  /* @thread trainer or model @state always but in an event @reenter series_count, series_name of its own preprocessor
   * @owns nothing @since 1.0 */
  loupe_status (*unknown_series)(void* wiring, loupe_source* source, const char* series, loupe_error* error);
} loupe_draft_mistakes;

#ifdef __cplusplus
}
#endif

#endif
