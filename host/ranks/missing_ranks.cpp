#include "ranks/missing_ranks.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace loupe {

MissingRanks::MissingRanks(int world_size) : world_size_(world_size), there_(static_cast<std::size_t>(world_size)) {
  std::iota(there_.begin(), there_.end(), 0);
}

std::string MissingRanks::note(std::vector<int> there, double epoch,
                               const std::function<std::string(const std::set<int>&)>& why) {
  std::sort(there.begin(), there.end());
  if (there == there_) return "";
  there_ = std::move(there);
  std::set<int> missing;
  for (int rank = 0; rank < world_size_; ++rank) missing.insert(missing.end(), rank);
  for (const int rank : there_) missing.erase(rank);
  const std::string from = "from epoch " + std::to_string(static_cast<long long>(epoch)) + " on ";
  if (missing.empty()) return from + "all " + std::to_string(world_size_) + " ranks are there";
  return from + "numbers are of " + std::to_string(there_.size()) + " of " + std::to_string(world_size_) +
         " ranks: " + why(missing);
}

void MissingRanks::show_rank_0_alone() {
  there_ = {0};
}

}  // namespace loupe
