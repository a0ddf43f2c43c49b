#pragma once

#include <loupe/event.h>

#include <array>
#include <cstdint>

#include "health/rules/layer.h"

namespace loupe::health {

struct Model;

/// Learns which layer's output goes as it is into the next, in the steps that are looked at whole: a NaN or Inf of a
/// convolution shows in the ReLU behind it, so that one look is enough for both. Under its model's mutex.
class Flow {
 public:
  /// A layer ran in training, with its tensors in the processor's memory.
  void take(Layer& layer, const Event& event);
  void end_pass() { last_ = nullptr; }
  /// After a step that was looked at whole. Whether it stands where it stood before.
  static bool settle(Layer& layer);
  /// What it may do without, LOUPE_REST_ bits. What rests is a layer between two that are looked at: what goes in was
  /// seen to be finite, and what comes out is seen behind it. So at most one that could make a NaN lies between them,
  /// and its name is known when one is there.
  static uint32_t rest_of(const Model& model, const Layer& layer);

 private:
  static constexpr int64_t most_compared = 16;
  using Some = std::array<double, most_compared>;  ///< elements of a tensor

  // The last layer that ran, and what it gave.
  Layer* last_ = nullptr;
  const void* data_ = nullptr;
  int64_t count_ = 0;
  Some some_{};
};

}  // namespace loupe::health
