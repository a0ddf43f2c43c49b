#pragma once

#include <loupe/internal/tally.h>
#include <loupe/lens.h>

#include "health/rules/tallies.h"

namespace loupe::health {

struct Layer;
struct Model;

/// In the steps between two looks the host adds up the outputs of the layers within a model, as long as they are finite
/// and of training passes. A layer is processed only in the steps in which its elements are looked at. Under its
/// model's mutex.
class OutputTally {
 public:
  OutputTally() = default;  ///< none can be used
  explicit OutputTally(const internal::Tally& tally) : tally_(tally) {}

  /// After a step that was looked at whole: adds to `changes` which layers are added up from now on.
  void begin(Model& model, Changes& changes);
  /// After a step between two looks: the same for the next one.
  void end_step(Model& model, Changes& changes);
  /// Adds to `changes` that all are processed again.
  void end(Model& model, Changes& changes);
  /// Adds what came since the last call to the pass that is on. On the thread of an event or the trainer's.
  void take(Model& model) const;
  /// For another model to use.
  OutputTally emptied() const;

 private:
  static void add_up(Layer& layer, bool adds_up, const internal::Tally& tally, Changes& changes);

  internal::Tally tally_;
  bool in_use_ = false;
  uint32_t steps_ = 0;        ///< since it began
  uint32_t next_change_ = 0;  ///< at which of them layers are gone through again
};

}  // namespace loupe::health
