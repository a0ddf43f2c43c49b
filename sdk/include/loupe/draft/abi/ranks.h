/* A draft: it may change or go without notice. Lenses that compare the processes of one run. */
#pragma once

#include <loupe/abi/lens.h>

/* An extension of a loupe_lens; the pointer that get_extension returns for it is not read. Rank 0 has a second instance
 * of every lens whose preprocessors have states: it is visited like the first, sees no events, gets the states of all
 * ranks at a tick, and reports then. With this extension the lens gets all states: also those of parameters and of
 * gradients at steps, which otherwise come only from rank 0, as they are equal in all replicas; and even if it offers
 * `step`, which is not called on that instance. */
#define LOUPE_DRAFT_RANKS_ID "loupe.ranks/draft-1"
