/* A draft: it may change or go without notice. Lenses that compare the processes of one run. */
#pragma once

#include <loupe/abi/lens.h>

/* An extension of a loupe_lens; the pointer that get_extension returns for it is not read. Each rank has a second
 * instance of every lens, on a thread of Loupe's: it is visited like the first, and sees no events. That of rank 0 gets
 * the states of all ranks at a tick, and reports then. With this extension the lens gets all states: also those of
 * parameters and of gradients at steps, which otherwise come only from rank 0, as they are equal in all replicas; and
 * even if it offers `step`, which is not called on that instance. */
#define LOUPE_DRAFT_RANKS_ID "loupe.ranks/draft-1"
