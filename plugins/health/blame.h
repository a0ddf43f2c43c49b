#pragma once

#include <string>

#include "health/rules/ledger.h"
#include "health/trail.h"

namespace loupe::health {

/// Who made a NaN or Inf, in words.
/// @param loss     whether the training loss was not finite either
/// @param opening  what the message begins with: "the first NaN or Inf of this run"
Observation blame(const Origin& origin, bool loss, const std::string& opening);

}  // namespace loupe::health
