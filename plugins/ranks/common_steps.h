#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ranks/rank_record.h"

namespace loupe::ranks {

/// The measured steps since a tick that are kept for comparison. Each rank measures as often as its budget allows, so
/// it keeps the steps that other ranks have most likely measured, too.
class KeptSteps {
 public:
  static constexpr std::size_t most = 16;

  /// @param position  the number of the step since the tick, from 0
  void add(uint64_t position, MeasuredStep step);
  /// Returns the kept steps in order, and forgets them.
  std::vector<MeasuredStep> take();
  /// Whether the inputs of this step are compared, too; comparing them in all steps would take too long.
  static bool has_inputs(uint64_t position);

 private:
  void prune();
  struct Kept {
    uint64_t position;
    MeasuredStep step;
  };
  std::vector<Kept> kept_;
};

/// Fills in numbers over the steps that nearly all ranks have measured, for the ranks that have measured all of these
/// steps.
/// @param modes  the names of the modules, by the numbers in MeasuredStep::evaluated
void compare_common_steps(std::map<int, RankRecord>& records, const std::vector<std::string>& modes);

}  // namespace loupe::ranks
