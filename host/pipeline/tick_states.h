#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace loupe {

/// What one source gathered since the last tick, as its preprocessor saves it.
struct SourceState {
  uint64_t key = 0;  ///< the same for the same source in every process that runs the same program
  std::string bytes;
  bool of_replicas = false;  ///< it is the same in every replica of the model, see GathererNode::sees_replicas
};

/// What all sources of one lens gathered.
struct LensStates {
  std::string lens;
  std::vector<SourceState> sources;
  std::string unable;  ///< why its numbers cannot be merged with another process's; empty where they can
};

}  // namespace loupe
