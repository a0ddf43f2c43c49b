#pragma once

#include <vector>

#include "findings/finding_board.h"

namespace loupe {

/// The unresolved findings, in the order they were raised.
inline std::vector<const loupe_finding*> standing_of(const FindingBoard& board) {
  std::vector<const loupe_finding*> found = board.all();
  std::erase_if(found, [](const loupe_finding* each) { return each->state == LOUPE_FINDING_GONE; });
  return found;
}

}  // namespace loupe
