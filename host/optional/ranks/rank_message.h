#pragma once

#include <loupe/row.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pipeline/tick_keeper.h"
#include "show/held_tick.h"

namespace loupe {

/// The path on which ranks send their numbers to rank 0: within each host first, then from host to host, so that no
/// rank receives more than `2 * fan_in` messages at a tick.
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
  /// The largest number of steps from a rank to rank 0.
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

/// The smallest and the largest value of one line among the ranks.
struct Extremes {
  double low = 0, high = 0;
  int low_rank = 0, high_rank = 0;
};

/// The extremes of each line, by a hash of tag, layer and line.
using ExtremesByLine = std::unordered_map<uint64_t, Extremes>;
uint64_t line_hash(const RowValue& value);

/// The data of one rank, and of those below it in the tree, until a tick.
struct RankMessage {
  uint64_t tick = 0;       ///< the number of the tick in its process, from 0
  std::vector<int> ranks;  ///< the ranks whose numbers these are
  std::vector<LensStates> lenses;
  ExtremesByLine extremes;            ///< empty unless requested
  std::map<int, std::string> faults;  ///< why records of ranks are incomplete; only a few of many

  /// @param replicas  also data that is equal in all replicas of a model: one rank's is enough
  std::string bytes(bool replicas = true) const;
  /// Throws Error for bytes that are not a message of this version.
  static RankMessage read(std::string_view bytes);
  /// Adds the values of a tick, as this rank's extremes.
  void add_values(const HeldTick& tick, int rank);
  void add_extremes(const ExtremesByLine& others);
  void add_faults(const std::map<int, std::string>& others);
  /// Adds to a tick of all ranks, for each line in which they differ, the value of the most deviating rank.
  void add_furthest_to(HeldTick& tick) const;
};

}  // namespace loupe
