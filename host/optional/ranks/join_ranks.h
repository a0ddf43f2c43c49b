#pragma once

#include "pipeline/tick_keeper.h"

namespace loupe {

extern const RanksTable ranks_table;

}  // namespace loupe
