#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ranks/rank_record.h"

namespace loupe::ranks {

/// The measured steps since a tick that are kept to be compared. Each rank measures as often as its own
/// budget allows, so that of what it has it keeps the steps that others are likely to have, too.
class KeptSteps {
 public:
  static constexpr std::size_t most = 16;

  /// @param position  of the step since the tick, from 0
  void add(uint64_t position, MeasuredStep step);
  /// In their order. Empties this.
  std::vector<MeasuredStep> take();
  /// Whether this step's inputs are compared, too: those of many steps would take long.
  static bool has_inputs(uint64_t position);

 private:
  void prune();
  struct Kept {
    uint64_t position;
    MeasuredStep step;
  };
  std::vector<Kept> kept_;
};

/// Fills what is known of the steps that nearly all ranks have measured, in those ranks that have measured all of them.
/// @param modes  the modules that MeasuredStep::evaluated numbers
void compare_common_steps(std::map<int, RankRecord>& records, const std::vector<std::string>& modes);

}  // namespace loupe::ranks
