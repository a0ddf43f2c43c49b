#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "listeners/listening.h"
#include "run/epoch_clock.h"

namespace torch::nn {
class Module;
}

namespace loupe {

/// Finds where a program begins its samples again, from the rows of the first layer's input.
class BatchRows {
 public:
  BatchRows();
  /// Watches the input of the model's first layer; there may be no layer with a visible forward.
  void add(torch::nn::Module& model);
  /// Call it before a backward pass. Returns whether the samples begin again with the last batch.
  bool begin_anew();
  /// Whether further batches may show an epoch.
  bool looks() const { return rows_.looks(); }
  /// Whether it has reported an epoch that later batches disproved.
  bool has_erred() const { return rows_.has_erred(); }

 private:
  class Listener;
  std::shared_ptr<Listener> listener_;
  std::vector<std::unique_ptr<Listening>> listening_;
  RecurringRows rows_;
  std::vector<std::uint64_t> batch_;  // kept for its memory
};

}  // namespace loupe
