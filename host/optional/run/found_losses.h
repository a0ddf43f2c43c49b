#pragma once

#include "core/find.h"

namespace loupe {

/// Finds the losses of a program that attaches its models itself. See FindTable.
void find_losses_for(FoundValues& values);
void forget_losses_for(const FoundValues& values);

}  // namespace loupe
