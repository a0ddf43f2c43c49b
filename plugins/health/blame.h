#ifndef LOUPE_PLUGINS_HEALTH_BLAME_H
#define LOUPE_PLUGINS_HEALTH_BLAME_H

#include "health/ledger.h"
#include "health/trail.h"

namespace loupe::health {

/// Who made a NaN or Inf, in words.
/// @param loss   whether the training loss was not finite either
/// @param again  all was finite again after an earlier one
Sight blame(const Origin& origin, bool loss, bool again);

}  // namespace loupe::health

#endif
