/* A draft: it may change or go without notice. Lenses that compare the processes of one run. */
#pragma once

#include <loupe/abi/lens.h>

/* An extension of a loupe_lens; what get_extension returns for it is not null and is not read. Rank 0 has a second
 * instance of every lens whose preprocessors have states: it is visited as the first is, sees no events, is given the
 * states of all ranks at a tick, and reports then. Such a lens with this extension is given them all: also those of
 * parameters and of gradients at steps, which are usually rank 0's alone, as they are the same in every replica; and
 * although it offers `step`, which that instance is not called for. */
#define LOUPE_DRAFT_RANKS_ID "loupe.ranks/draft-1"
