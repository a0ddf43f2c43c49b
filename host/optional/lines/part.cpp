#include "core/part.h"
#include "lines/lines.h"

LOUPE_PART(loupe::lines_table)
