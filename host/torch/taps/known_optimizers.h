#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/forks.h"
#include "torch/tensor/compat.h"

// What the optimizers of one attached model have to know of those of the others.

namespace torch::optim {
class Optimizer;
}

namespace loupe {

class OptimizerSteps;

/// The parameters of all attached models, by whose they are.
class KnownParameters {
 public:
  using Set = std::unordered_set<const c10::TensorImpl*>;
  static KnownParameters& instance() {
    static auto* known = new KnownParameters();  // optimizers may step during static destruction
    return *known;
  }
  /// Changes when they do.
  uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }
  void set(const OptimizerSteps* of, Set parameters) {
    const std::lock_guard lock(mutex_);
    sets_[of] = std::move(parameters);
    ++generation_;
  }
  void remove(const OptimizerSteps* of) {
    const std::lock_guard lock(mutex_);
    if (sets_.erase(of) != 0) ++generation_;
  }
  bool has(const c10::TensorImpl* parameter) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(sets_.begin(), sets_.end(), [&](const auto& each) { return each.second.count(parameter) != 0; });
  }

 private:
  mutable ProcessMutex mutex_;
  std::unordered_map<const OptimizerSteps*, Set> sets_;
  std::atomic<uint64_t> generation_{1};
};

/// Numbers for optimizers: one that holds parameters of several models has the same for each of them.
class OptimizerNumbers {
 public:
  static OptimizerNumbers& instance() {
    static auto* numbers = new OptimizerNumbers();  // optimizers may step during static destruction
    return *numbers;
  }
  /// @param of  the models' own, each of which takes a number once
  uint64_t take(const OptimizerSteps* of, const torch::optim::Optimizer& optimizer, uint64_t fingerprint) {
    constexpr std::size_t most = 64;
    const std::lock_guard lock(mutex_);
    const auto known = std::find_if(given_.begin(), given_.end(), [&](const Given& each) {
      return each.optimizer == &optimizer && each.fingerprint == fingerprint && each.taken_by.count(of) == 0;
    });
    if (known != given_.end()) {
      known->taken_by.insert(of);
      return known->number;
    }
    if (given_.size() == most) given_.pop_front();
    given_.push_back({&optimizer, fingerprint, ++last_, {of}});
    return last_;
  }

 private:
  struct Given {
    const torch::optim::Optimizer* optimizer;  // only to compare with
    uint64_t fingerprint, number;
    std::unordered_set<const OptimizerSteps*> taken_by;
  };
  ProcessMutex mutex_;
  std::deque<Given> given_;
  uint64_t last_ = 0;
};

}  // namespace loupe
