#ifndef LOUPE_PLUGINS_HEALTH_BLAME_H
#define LOUPE_PLUGINS_HEALTH_BLAME_H

#include "health/ledger.h"
#include "health/trail.h"

namespace loupe::health {

/// Who made a NaN or Inf, in words.
/// @param loss   whether the training loss was not finite either
/// @param again  all was finite again after an earlier one
Sight blame(const Origin& origin, bool loss, bool again);

/// The same of one in an output that did no harm: no step was made with it, or the loss leaves it out.
Sight harmless(const Origin& origin);

}  // namespace loupe::health

#endif
