#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// "rank 1", "ranks 1 and 3", "ranks 1, 2, 3, 4 and 12 more": a run may have thousands.
inline std::string list_of_ranks(std::vector<int> ranks) {
  constexpr std::size_t most = 4;
  std::sort(ranks.begin(), ranks.end());
  std::string list = ranks.size() == 1 ? "rank " : "ranks ";
  const std::size_t shown = ranks.size() <= most + 1 ? ranks.size() : most;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == ranks.size() && i > 0;
    list += (i == 0 ? "" : is_last ? " and " : ", ") + std::to_string(ranks[i]);
  }
  return shown == ranks.size() ? list : list + " and " + std::to_string(ranks.size() - shown) + " more";
}

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
