#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/loss_makers.h"

namespace torch::optim {
class Optimizer;
}

namespace loupe {

/// Finds out whether a program that multiplies its loss by a number, for gradients that half precision would round to
/// 0, divides the gradients by it before each step: then the number is no part of the loss. One thread at a time.
class LossScale {
 public:
  struct Waiting {
    std::string name;
    at::Tensor loss;
    MadeLoss made;
  };

  /// Not known before the second step.
  std::optional<bool> is_divided_out() const { return is_divided_out_; }
  /// A loss that was multiplied, until that is known.
  void wait(Waiting loss) { waiting_.push_back(std::move(loss)); }
  std::vector<Waiting> take() { return std::exchange(waiting_, {}); }
  bool any_waits() const { return !waiting_.empty(); }
  std::size_t count() const { return waiting_.size(); }

  void after_backward();
  void before_step(const torch::optim::Optimizer& optimizer);
  /// For losses that are to be shown although no step has told yet.
  static bool is_likely(double scale);
  bool is_likely_of_waiting() const { return is_likely(waiting_.back().made.scale); }

 private:
  using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
  at::Tensor watched() const;

  std::optional<bool> is_divided_out_;
  std::vector<Waiting> waiting_;
  std::optional<WeakTensor> parameter_;  // the one whose gradient is looked at
  std::optional<double> as_made_;        // the size of its gradient behind the last backward pass
  double at_step_ = 0;                   // the same at the step before
};

}  // namespace loupe
