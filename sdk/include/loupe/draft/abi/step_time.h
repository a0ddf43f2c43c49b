/* A draft: it may change or go without notice. What single steps take, and what they hold in memory. A component asks
 * for its id at create, and cannot use it where there is none; what is answered is not null, and is not read. */
#pragma once

#include <loupe/abi/builtin.h>
#include <loupe/abi/events.h>

#define LOUPE_DRAFT_STEP_TIME_ID "loupe.step_time/draft-1"

/* Of a step that was timed, once it is over; scalar: seconds of wall time, of the host, or of the queue of the device
 * that the optimizer's parameters are on, where that can be told.
 * Without a module, label: "device", where the times are a device's, whose scalar is 1; "waiting" (for data: from the
 * end of a step, or of a backward pass, to the next forward that trains), "forward", "backward" (with the loss),
 * "optimizer", "other", "loupe" (Loupe's own work); then "step", which is their sum.
 * Of a module, label: "forward" and "backward", which is what the module itself takes, without those inside it; then
 * "calls", whose scalar is how often it ran in the step. Only steps that train count. */
enum { LOUPE_DRAFT_TAP_STEP_TIME = LOUPE_TAP_DRAFTS + 2 };
/* The gatherer of it. */
#define LOUPE_DRAFT_GATHER_STEP_TIME LOUPE_DRAFT_GATHERERS "step_time"

/* Of one step between two ticks, once it is over; scalar: bytes.
 * Of a module: what its forward, without the modules inside it, made and what was still there when the backward pass
 * began.
 * Without a module, label: "kept", the same of all modules; "kept outside", of what ran between them; "optimizer
 * state", the tensors that LibTorch's optimizers keep, of those that stepped. */
enum { LOUPE_DRAFT_TAP_STEP_MEMORY = LOUPE_TAP_DRAFTS + 3 };
/* The gatherer of it. */
#define LOUPE_DRAFT_GATHER_STEP_MEMORY LOUPE_DRAFT_GATHERERS "step_memory"
