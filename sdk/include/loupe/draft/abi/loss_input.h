/* A draft: it may change or go without notice. The scores that a cross entropy is given. */
#ifndef LOUPE_DRAFT_ABI_LOSS_INPUT_H
#define LOUPE_DRAFT_ABI_LOSS_INPUT_H

#include <loupe/abi/events.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of a model's root; tensor: what its cross entropy is given as scores. */
enum { LOUPE_DRAFT_TAP_LOSS_INPUT = LOUPE_TAP_DRAFTS + 1 };

#ifdef __cplusplus
}
#endif

#endif
