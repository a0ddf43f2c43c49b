/* A draft: it may change or go without notice. Flags of events, modules and parameters that show how a program trains,
 * and further LOUPE_REST_ bits, all of the bits that the core leaves to drafts. A component asks for this id at create;
 * the answer is null if the host lacks the draft, else a pointer that is not read. */
#pragma once

#include <loupe/abi/events.h>

#define LOUPE_DRAFT_FLAGS_ID "loupe.flags/draft-1"

/* Flags of events. */
enum {
  LOUPE_DRAFT_EVENT_NOT_CLEARED = 1u << 26,  /* OPTIMIZER_STEP: the gradient still contained the previous step's */
  LOUPE_DRAFT_EVENT_DROPS = 1u << 27,        /* a dropout function that drops in any mode of the model */
  LOUPE_DRAFT_EVENT_CLIPPED_EARLY = 1u << 28 /* OPTIMIZER_STEP: a clip changed the gradient while it was all 0, not
                                               after backward() had filled it; for one of the clipped parameters */
};

/* Flags of modules. */
enum {
  LOUPE_DRAFT_MODULE_UNREGISTERED = 1u << 16 /* runs in a model that has not registered it: it is never trained */
};

/* Flags of parameters. */
enum {
  LOUPE_DRAFT_PARAMETER_GRADIENT = 1u << 16, /* had a gradient at the last step of an optimizer of its model */
  LOUPE_DRAFT_PARAMETER_CHANGED = 1u << 17   /* a sample of its values differs from the previous tick's */
};

/* What a source skips for a while, in addition to LOUPE_REST_EVENTS. */
enum {
  LOUPE_DRAFT_REST_MEASURES = 1u << 16, /* its events come without a measurement */
  LOUPE_DRAFT_REST_TENSORS = 1u << 17   /* they may come without inputs and outputs, which then need not be kept */
};
