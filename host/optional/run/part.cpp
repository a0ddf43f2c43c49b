#include "core/part.h"
#include "run/start.h"

LOUPE_PART(loupe::run_table)
