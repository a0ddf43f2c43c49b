#include "core/part.h"
#include "ranks/join_ranks.h"

LOUPE_PART(loupe::ranks_table)
