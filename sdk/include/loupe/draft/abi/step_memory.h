/* A draft: it may change or go without notice. What single steps hold in memory. */
#pragma once

#include <loupe/abi/builtin.h>
#include <loupe/abi/events.h>

/* Of one step between two ticks, once it is over; scalar: bytes.
 * Of a module: what its forward, without the modules inside it, made and what was still there when the backward pass
 * began.
 * Without a module, label: "kept", the same of all modules; "kept outside", of what ran between them; "optimizer
 * state", the tensors that LibTorch's optimizers keep, of those that stepped. */
enum { LOUPE_DRAFT_TAP_STEP_MEMORY = LOUPE_TAP_DRAFTS + 3 };
/* The gatherer of it. */
#define LOUPE_DRAFT_GATHER_STEP_MEMORY LOUPE_DRAFT_GATHERERS "step_memory"
