#pragma once

#include <string>

#include "pipeline/lens_node.h"
#include "pipeline/tick_keeper.h"

namespace loupe {

/// A lens whose values are merged with those of the same lens in other processes. Calls come one at a time, as those of
/// the lens do.
class LensStatesOf {
 public:
  explicit LensStatesOf(LensNode& lens) : lens_(lens) {}

  /// Whether it compares the values of all processes of the run.
  bool takes_all_ranks() const;
  /// Why its values cannot be merged with another process's; empty if they can.
  std::string cannot_merge() const;
  LensStates save() const;
  /// Merges the states of another process into the sources. Returns false if a state cannot be read.
  /// @param replicas  include streams that are the same in every replica of a model
  bool merge(const LensStates& states, bool replicas) const;
  /// Returns the states of its sources, and resets them.
  LensStates take() const;

 private:
  void save_sources(LensStates& states) const;

  LensNode& lens_;
};

/// Keeps the states of lenses in bytes.
class StateSaver : public TickKeeper {
 public:
  LensStates states_of(LensNode& lens) final { return LensStatesOf(lens).save(); }
};

}  // namespace loupe
