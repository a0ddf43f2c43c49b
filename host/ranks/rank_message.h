#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pipeline/tick_keeper.h"
#include "show/held_tick.h"

namespace loupe {

/// The smallest and the largest that ranks had for one line of values.
struct Extremes {
  double low = 0, high = 0;
  int low_rank = 0, high_rank = 0;
};

/// By a hash of tag, layer and line.
using ExtremesByLine = std::unordered_map<uint64_t, Extremes>;
uint64_t line_hash(const RowValue& value);

/// What one rank, and those behind it in the tree, gathered until a tick.
struct RankMessage {
  uint64_t tick = 0;       ///< of the process's ticks, from 0
  std::vector<int> ranks;  ///< whose numbers these are
  std::vector<LensStates> lenses;
  ExtremesByLine extremes;            ///< empty where nobody asked for them
  std::map<int, std::string> faults;  ///< of ranks whose own records are not whole: why; of many, a few

  /// @param replicas  also what is the same in every replica of a model: one rank's is enough
  std::string bytes(bool replicas = true) const;
  /// Throws Error for bytes that are no message, or one of another version.
  static RankMessage read(std::string_view bytes);
  /// Adds the values of a tick, as this rank's extremes.
  void add_values(const HeldTick& tick, int rank);
  void add_extremes(const ExtremesByLine& others);
  void add_faults(const std::map<int, std::string>& others);
  /// Adds to a tick of all ranks, for each line in which they differ, the one that is furthest out.
  void add_furthest_to(HeldTick& tick) const;
};

}  // namespace loupe
