#pragma once

#include <loupe/row.h>

#include <functional>

#include "show/held_tick.h"

namespace loupe {

/// Replaces numbers of a tick by those that `other` has under the same names, and adds the rest of `other`.
void take_over(HeldTick& tick, HeldTick&& other);
/// Calls `call` with each value of a tick, not with ranges and histograms.
void each_value(const HeldTick& tick, const std::function<void(const RowValue&)>& call);

}  // namespace loupe
