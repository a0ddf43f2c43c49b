#pragma once

#include <loupe/draft/tensor_math.h>
#include <loupe/event.h>

#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "health/rules/ledger.h"

namespace loupe::health {

/// Where a NaN or Inf was seen first, and its surroundings.
struct Origin {
  enum class Place {
    output,
    gradient,
    changed_gradient,  ///< the gradient that the optimizer used; it was finite after the backward pass
    parameter
  };
  Place place;
  uint64_t step = 0;
  uint64_t unseen_steps = 0;  ///< unseen steps before this one, since the last measured step
  const loupe_module* module = nullptr;
  std::string parameter;
  int64_t nan_count = 0, inf_count = 0, numel = 0;
  std::string where = {};                ///< see Elements::place_of_non_finite()
  std::vector<draft::Maker> steep = {};  ///< functions between the loss and a gradient's parameter

  /// The inputs of an output's layer.
  struct Inputs {
    bool finite = true;
    double largest = 0;  ///< magnitude; NaN if `norm` is known instead
    double norm = NAN;
    std::string bad_parameter;  ///< one of the module's own parameters
    bool was_stepped = false;   ///< a step changed the bad parameter, which was finite before
    std::string where = {};     ///< place in the bad input or parameter
    int64_t masked_rows = 0;    ///< rows of a softmax that are only -Inf, among `rows`
    int64_t rows = 0, keys = 0;
    std::vector<draft::Maker> maker = {};  ///< the function that made the bad input or output; at most one
  };
  std::optional<Inputs> inputs;
  bool begins_pass = false;  ///< the first layer of its forward
  std::string before;        ///< the layer that ran before it, else ""
  std::string shown_by;      ///< the next layer, which took the output, if only that one was measured
};

/// Keeps the first NaN or Inf until it is known whether it did harm. Thread-safe.
class FirstNonFinite {
 public:
  bool is_taken() const { return taken_.load(std::memory_order_acquire); }
  /// An event holds a NaN or Inf. Returns whether it is the first, which must be noted.
  bool meets_first() {
    met_.store(true, std::memory_order_relaxed);
    return !is_taken();
  }
  /// Whether any event held a NaN or Inf since the last call.
  bool take_met() { return met_.exchange(false, std::memory_order_relaxed); }
  void note(Origin origin) {
    const std::lock_guard lock(mutex_);
    if (origin_) return;
    origin_ = std::move(origin);
    taken_.store(true, std::memory_order_release);
  }
  /// Whether it is an output of this module whose inputs are not known yet.
  bool wants_inputs_of(const loupe_module* module) const {
    const std::lock_guard lock(mutex_);
    return origin_ && origin_->place == Origin::Place::output && origin_->module == module && !origin_->inputs;
  }
  void explain(const loupe_module* module, Origin::Inputs inputs) {
    const std::lock_guard lock(mutex_);
    if (origin_ && origin_->module == module && !origin_->inputs) origin_->inputs = std::move(inputs);
  }
  std::optional<Origin> first() const {
    const std::lock_guard lock(mutex_);
    return origin_;
  }
  /// The NaN or Inf did no harm.
  void forget() {
    const std::lock_guard lock(mutex_);
    origin_.reset();
    taken_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> taken_{false}, met_{false};
  mutable std::mutex mutex_;
  std::optional<Origin> origin_;
};

/// Describes the origin of a NaN or Inf.
/// @param loss     whether the training loss was not finite either
/// @param makers   the function that made the loss's, if known
/// @param opening  "the first NaN or Inf of this run", which the message names as its object, or a sentence to begin
/// with
Observation blame(const Origin& origin, bool loss, const std::vector<draft::Maker>& makers, const std::string& opening);

}  // namespace loupe::health
