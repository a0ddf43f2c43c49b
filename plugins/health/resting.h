#ifndef LOUPE_PLUGINS_HEALTH_RESTING_H
#define LOUPE_PLUGINS_HEALTH_RESTING_H

#include <loupe/lens.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace loupe::health {

struct Model;

/// A source, and what it does without from now on: LOUPE_REST_ bits.
using Rest = std::pair<Source, uint32_t>;

/// Lets rest what others show: one step in about 16, later 60, is looked at whole, and in the steps between one look is
/// enough for a layer and the one that takes its output, and for all parameters of a layer. Under its model's mutex.
class Resting {
 public:
  /// Whether this is a step in which nothing rests.
  bool is_looking() const { return looking_; }
  /// What rests looks again, from the end of this step on.
  void begin_anew() { steps_left_ = 0; }
  /// At the end of a step: adds to `changes` what is to rest from now on, and what is not to any more.
  /// @param all  nothing is to rest
  void end_step(Model& model, bool all, std::vector<Rest>& changes);

 private:
  uint32_t next_rest();

  bool looking_ = true;
  uint32_t steps_left_ = 0;    ///< until all are looked at again
  uint32_t steady_looks_ = 0;  ///< in a row that found each layer where it was before
  uint32_t random_ = 1;
};

}  // namespace loupe::health

#endif
