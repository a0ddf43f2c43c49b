#include "core/part.h"
#include "services/services.h"

LOUPE_PART(loupe::services_table)
