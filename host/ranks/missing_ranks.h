#ifndef LOUPE_RANKS_MISSING_RANKS_H
#define LOUPE_RANKS_MISSING_RANKS_H

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace loupe {

/// Which ranks the ticks of a run lack.
class MissingRanks {
 public:
  explicit MissingRanks(int world_size);

  /// A sentence for the user where a tick lacks other ranks than the one before; else empty.
  /// @param there  whose numbers the tick has  @param why  says of missing ranks what is known of them
  std::string note(std::vector<int> there, double epoch, const std::function<std::string(const std::set<int>&)>& why);
  /// The last tick was shown with the numbers of rank 0 alone, and the user knows.
  void show_rank_0_alone();

 private:
  int world_size_;
  std::vector<int> there_;  // in order
};

}  // namespace loupe

#endif
