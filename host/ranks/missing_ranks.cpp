#include "ranks/missing_ranks.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace loupe {

MissingRanks::MissingRanks(int world_size) : MissingRanks(world_size, std::nullopt) {}

MissingRanks::MissingRanks(int world_size, std::optional<std::set<int>> known)
    : world_size_(world_size), known_(std::move(known)), there_(static_cast<std::size_t>(world_size)) {
  std::iota(there_.begin(), there_.end(), 0);
}

std::string MissingRanks::note(std::vector<int> there, double epoch,
                               const std::function<std::string(const std::set<int>&)>& why) {
  std::sort(there.begin(), there.end());
  if (there == there_) return "";
  there_ = std::move(there);
  const std::string from = "from epoch " + std::to_string(static_cast<long long>(epoch)) + " on ";
  if (there_.size() == static_cast<std::size_t>(world_size_))
    return from + "all " + std::to_string(world_size_) + " ranks are there";
  std::set<int> missing;
  if (known_) {
    missing = *known_;
  } else {
    for (int rank = 0; rank < world_size_; ++rank) missing.insert(missing.end(), rank);
  }
  for (const int rank : there_) missing.erase(rank);
  return from + "numbers are of " + std::to_string(there_.size()) + " of " + std::to_string(world_size_) +
         " ranks: " + why(missing);
}

void MissingRanks::show_rank_0_alone() {
  there_ = {0};
}

}  // namespace loupe
