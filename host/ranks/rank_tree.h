#pragma once

#include <algorithm>
#include <vector>

namespace loupe {

/// Along which path ranks send their numbers to rank 0: within each host first, then from host to host, so that no rank
/// receives more than `2 * fan_in` messages at a tick.
class RankTree {
 public:
  static constexpr int fan_in = 4;

  /// @param per_host  how many ranks in a row share a host; at least 1
  RankTree(int world_size, int per_host) : world_size_(world_size), per_host_(std::max(1, per_host)) {}

  /// -1 for rank 0.
  int parent(int rank) const {
    const int local = rank % per_host_, host = rank / per_host_;
    if (local > 0) return host * per_host_ + (local - 1) / fan_in;
    return host > 0 ? (host - 1) / fan_in * per_host_ : -1;
  }
  std::vector<int> children(int rank) const {
    std::vector<int> found;
    const int local = rank % per_host_, host = rank / per_host_;
    for (int child = local * fan_in + 1; child <= (local + 1) * fan_in && child < per_host_; ++child)
      add(host * per_host_ + child, found);
    if (local > 0) return found;
    for (int child = host * fan_in + 1; child <= (host + 1) * fan_in; ++child) add(child * per_host_, found);
    return found;
  }
  int depth(int rank) const {
    int steps = 0;
    for (; rank != 0; rank = parent(rank)) ++steps;
    return steps;
  }
  /// Of the rank that is furthest from rank 0.
  int height() const {
    int height = 0;
    for (int rank = 0; rank < world_size_; ++rank) height = std::max(height, depth(rank));
    return height;
  }

 private:
  void add(int rank, std::vector<int>& ranks) const {
    if (rank < world_size_) ranks.push_back(rank);
  }

  int world_size_, per_host_;
};

}  // namespace loupe
