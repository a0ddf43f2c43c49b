#ifndef LOUPE_PLUGINS_HEALTH_FLOW_H
#define LOUPE_PLUGINS_HEALTH_FLOW_H

#include <loupe/event.h>
#include <loupe/lens.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "health/layer.h"

namespace loupe::health {

struct Model;

/// A source, and what it does without from now on: LOUPE_REST_ bits.
using Rest = std::pair<Source, uint32_t>;

/// Learns which layer's output goes as it is into the next, and lets the first of such a pair rest: a NaN or Inf of a
/// convolution shows in the ReLU behind it, so that one look is enough for both. One step in about 16 is looked at
/// whole, and what was learned is learned anew. Under its model's mutex.
class Flow {
 public:
  /// Whether this is a step in which nothing rests.
  bool is_looking() const { return looking_; }
  /// A layer ran in training, with its tensors in the processor's memory.
  void take(Layer& layer, const Event& event);
  void end_pass() { last_ = nullptr; }
  /// A layer is gone: what rested because of it looks again, from the end of this step on.
  void begin_anew() {
    steps_left_ = 0;
    end_pass();
  }
  /// At the end of a step: adds to `changes` what is to rest from now on, and what is not to any more.
  /// @param all  nothing is to rest
  void end_step(Model& model, bool all, std::vector<Rest>& changes);

 private:
  static constexpr int64_t most_compared = 16;
  using Some = std::array<double, most_compared>;  ///< elements of a tensor

  static void settle(Layer& layer);
  static void choose(const Model& model, Layer& layer);
  uint32_t next_rest();

  bool looking_ = true;
  uint32_t steps_left_ = 0;  ///< until all are looked at again
  uint32_t random_ = 1;
  // The last layer that ran, and what it gave.
  Layer* last_ = nullptr;
  const void* data_ = nullptr;
  int64_t count_ = 0;
  Some some_{};
};

}  // namespace loupe::health

#endif
