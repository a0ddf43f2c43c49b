#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace loupe {

/// Which ranks the ticks of a run lack.
class MissingRanks {
 public:
  explicit MissingRanks(int world_size);
  /// @param known  those that may be there: of a run that was recorded long ago, those that left anything
  MissingRanks(int world_size, std::optional<std::set<int>> known);

  /// A sentence for the user where a tick lacks other ranks than the one before; else empty.
  /// @param there  whose numbers the tick has
  /// @param why    says of missing ranks, of those that may be there, what is known of them
  std::string note(std::vector<int> there, double epoch, const std::function<std::string(const std::set<int>&)>& why);
  /// The last tick was shown with the numbers of rank 0 alone, and the user knows.
  void show_rank_0_alone();

 private:
  const int world_size_;
  const std::optional<std::set<int>> known_;  // all unless given
  std::vector<int> there_;                    // at the tick before, in order
};

}  // namespace loupe
