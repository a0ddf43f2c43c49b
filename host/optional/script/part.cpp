#include "core/part.h"
#include "script/script_taps.h"

LOUPE_PART(loupe::script_table)
