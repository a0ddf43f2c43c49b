#ifndef LOUPE_PLUGINS_HEALTH_BLAME_H
#define LOUPE_PLUGINS_HEALTH_BLAME_H

#include "health/ledger.h"
#include "health/trail.h"

namespace loupe::health {

/// Who made the first NaN or Inf, in words.
/// @param loss  whether the training loss was not finite either
Sight blame(const Origin& origin, bool loss);

}  // namespace loupe::health

#endif
