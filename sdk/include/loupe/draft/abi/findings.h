/* A draft: it may change or go without notice. Findings of components that have no sink at hand. */
#ifndef LOUPE_DRAFT_ABI_FINDINGS_H
#define LOUPE_DRAFT_ABI_FINDINGS_H

#include <loupe/abi/findings.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOUPE_DRAFT_FINDINGS_ID "loupe.findings/draft-1"

/* Host service LOUPE_DRAFT_FINDINGS_ID. */
typedef struct loupe_draft_finding_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* Copies the finding and tells the visualizers at the next step or tick. Allocates, so call it in a hook only when
   * there is something to say. */
  /* @thread any @state always @reenter none @owns borrows finding @since 1.0 */
  loupe_status (*publish)(void* host, const loupe_finding* finding, loupe_error* error);
} loupe_draft_finding_service;

#ifdef __cplusplus
}
#endif

#endif
