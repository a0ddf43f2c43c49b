/* A draft: it may change or go without notice. The time that single steps take, and the memory that they hold. A
 * component asks for this id at create; the answer is null if the host lacks the draft, else a pointer that is not
 * read. */
#pragma once

#include <loupe/abi/builtin.h>
#include <loupe/abi/events.h>

#define LOUPE_DRAFT_STEP_TIME_ID "loupe.step_time/draft-1"

/* Events of a timed step, after it; scalar: seconds of wall time, of the host, or of the queue of the device that the
 * optimizer's parameters are on, if that can be measured.
 * Without a module, label: "device", with scalar 1, if the times are a device's; "waiting" (for data: from the end of a
 * step, or of a backward pass, to the next forward that trains; after a backward pass on average no longer than before
 * the step's first forward, and the rest is "other"), "forward", "backward" (with the loss), "optimizer",
 * "other", "loupe" (Loupe's own work); then "step", their sum.
 * With a module, label: "forward" and "backward", the time of the module itself, without those inside it; then "calls",
 * whose scalar is how often it ran in the step. Only training steps count. */
enum { LOUPE_DRAFT_TAP_STEP_TIME = LOUPE_TAP_DRAFTS + 2 };
/* The gatherer of these events. */
#define LOUPE_DRAFT_GATHER_STEP_TIME LOUPE_DRAFT_GATHERERS "step_time"

/* Events of one step between two ticks, after it; scalar: bytes.
 * With a module: the memory that its forward, without the modules inside it, allocated and that was still held when the
 * backward pass began.
 * Without a module, label: "kept", the sum over all modules; "kept outside", of the code between them; "optimizer
 * state", the tensors that LibTorch's optimizers keep, for those that stepped. */
enum { LOUPE_DRAFT_TAP_STEP_MEMORY = LOUPE_TAP_DRAFTS + 3 };
/* The gatherer of these events. */
#define LOUPE_DRAFT_GATHER_STEP_MEMORY LOUPE_DRAFT_GATHERERS "step_memory"
