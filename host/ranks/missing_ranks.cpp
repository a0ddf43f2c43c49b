#include "ranks/missing_ranks.h"

namespace loupe {

std::string MissingRanks::note(const std::vector<int>& there, double epoch,
                               const std::function<std::string(const std::set<int>&)>& why) {
  std::set<int> missing;
  if (known_) {
    missing = *known_;
  } else {
    for (int rank = 0; rank < world_size_; ++rank) missing.insert(rank);
  }
  for (const int rank : there) missing.erase(rank);
  const bool lacks_any = known_ && known_->size() < static_cast<std::size_t>(world_size_);  // at every tick
  if (missing_ ? missing == *missing_ : missing.empty() && !lacks_any) return "";
  missing_ = missing;
  const std::string from = "from epoch " + std::to_string(static_cast<long long>(epoch)) + " on ";
  if (missing.empty() && !lacks_any) return from + "all " + std::to_string(world_size_) + " ranks are there";
  return from + "numbers are of " + std::to_string(there.size()) + " of " + std::to_string(world_size_) +
         " ranks: " + why(missing);
}

void MissingRanks::show_rank_0_alone() {
  missing_.emplace();
  for (int rank = 1; rank < world_size_; ++rank) missing_->insert(rank);
}

}  // namespace loupe
