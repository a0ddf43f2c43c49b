/* A draft: it may change or go without notice. Flags of events, modules and parameters that look at how a program
 * trains, and what else a source may rest from, of the bits that the core leaves to drafts. A component asks for its id
 * at create, and cannot use it where there is none; what is answered is not null, and is not read. */
#pragma once

#include <loupe/abi/events.h>

#define LOUPE_DRAFT_FLAGS_ID "loupe.flags/draft-1"

/* Of events. */
enum {
  LOUPE_DRAFT_EVENT_NOT_CLEARED = 1u << 26, /* OPTIMIZER_STEP: the gradient still held that of the step before */
  LOUPE_DRAFT_EVENT_DROPS = 1u << 27, /* a dropout function that was told to drop, whatever mode the model is in */
  LOUPE_DRAFT_EVENT_CLIPPED_EARLY = 1u << 28 /* OPTIMIZER_STEP: the gradient was multiplied by a number, or clamped, as
                                                a clip does, while it was all 0, and not after backward() had made it;
                                                of one of the parameters that a clip was given */
};

/* Of modules. */
enum {
  LOUPE_DRAFT_MODULE_UNREGISTERED = 1u << 16 /* runs in a model that has not registered it: its parameters are never
                                                trained */
};

/* Of parameters. */
enum {
  LOUPE_DRAFT_PARAMETER_GRADIENT = 1u << 16, /* had a gradient at the last step of an optimizer of its model */
  LOUPE_DRAFT_PARAMETER_CHANGED = 1u << 17   /* has other values than at the tick before, as a sample of them shows */
};

/* What a source does without for a while, beside LOUPE_REST_EVENTS. */
enum {
  LOUPE_DRAFT_REST_MEASURES = 1u << 16, /* its events come without a measurement */
  LOUPE_DRAFT_REST_TENSORS = 1u << 17   /* they may come without inputs and outputs, so that those need not be kept */
};
