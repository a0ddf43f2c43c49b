#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "inspector/program_inspector.h"
#include "run/loss_names.h"
#include "torch/redirect/symbols.h"
#include "torch/tensor/compat.h"

namespace torch::optim {
class Optimizer;
}

namespace loupe {

/// Finds the place in the program that calls backward(). With little optimization, LibTorch's inline functions are
/// compiled into the program, and every call would come from the same place in them. One thread at a time.
class CallOrigins {
 public:
  /// Returns the place in the trainer's code that led to `place`, on the current stack.
  const void* of(const void* place);

 private:
  /// The inline functions around the place; null if it is the trainer's own code.
  const std::vector<CodeRange>* inline_code_at(const void* place);

  std::unordered_map<const void*, std::vector<CodeRange>> inline_code_;    // the inline functions of each object
  std::unordered_map<const void*, const std::vector<CodeRange>*> places_;  // the places looked up so far
};

/// The computation of a number on which backward() is called.
struct MadeLoss {
  /// The loss function of LibTorch whose result this is, except for constant factors, and that result; null if more was
  /// computed from it.
  const char* function = nullptr;
  at::Tensor result;
  bool has_factors = false;
  /// The last constant factor if it is above 1, and the number before that factor; else 1, and the number itself.
  double scale = 1;
  at::Tensor unscaled;
};

/// Remembers the results of loss functions, and finds them in the graph that backward() is called on. One thread at a
/// time.
class LossMakers {
 public:
  /// A loss function returned a number with a graph.
  void computed(const at::Tensor& result, const char* function);
  MadeLoss of(const at::Tensor& loss) const;

 private:
  struct ComputedLoss {
    WeakNodeHandle node;
    at::Tensor result;
    const char* function;
  };
  std::deque<ComputedLoss> computed_;  // the latest ones
};

/// A parameter that a loss depends on.
struct LossLeaf {
  const c10::TensorImpl* parameter;  // only to compare with
  std::vector<int64_t> shape;
};
/// The parameters in the graph of a loss, as far as it is searched.
std::vector<LossLeaf> leaves_of(const at::Tensor& loss);

/// A hash that is equal for two calls of backward() on one loss, as in both arms of an `if`: of the last operations
/// that computed it, and of the parameters nearest to it.
std::uint64_t signature_of(const at::Tensor& loss);

/// Finds out whether a program that multiplies its loss by a number, for gradients that half precision would round to
/// 0, divides the gradients by it before each step: then the number is no part of the loss. One thread at a time.
class LossScale {
 public:
  struct ScaledLoss {
    std::string name;
    at::Tensor loss;
    MadeLoss made;
  };

  /// Nullopt if unknown, as before the second step.
  std::optional<bool> is_divided_out() const { return is_divided_out_; }
  /// Keeps a multiplied loss until the answer is known.
  void wait(ScaledLoss loss) { waiting_.push_back(std::move(loss)); }
  std::vector<ScaledLoss> take() { return std::exchange(waiting_, {}); }
  bool any_waits() const { return !waiting_.empty(); }
  std::size_t count() const { return waiting_.size(); }

  void after_backward();
  void before_step(const torch::optim::Optimizer& optimizer);
  /// The answer for losses that must be shown before a step has decided it.
  static bool is_likely(double scale);
  bool is_likely_of_waiting() const { return is_likely(waiting_.back().made.scale); }

 private:
  using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
  at::Tensor watched() const;

  std::optional<bool> is_divided_out_;
  std::vector<ScaledLoss> waiting_;
  std::optional<WeakTensor> parameter_;  // the parameter whose gradient is read
  std::optional<double> as_made_;        // the size of its gradient after the last backward pass
  double at_step_ = 0;                   // the size of its gradient at the step before
};

/// The losses of a program that does not name them: finds which calls of backward() are on one loss, names it, and
/// finds which numbers that are computed in validation may be compared with it. One thread at a time.
class ProgramLosses {
 public:
  /// Reports the guess about a loss.
  struct Tell {
    std::function<void(const std::string& guess)> guess;
    /// Reports a trained loss and its name.
    std::function<void(const std::string& name, const std::string& what)> trained;
  };
  struct Names {
    std::string train, validation;
    std::vector<std::string> given;
  };
  ProgramLosses(FoundValues& values, const Names& names, Tell tell);

  /// A loss function of LibTorch returned a number, with a graph (`computed`) or without one (`evaluated`).
  void computed(const at::Tensor& result, const char* function) { makers_.computed(result, function); }
  void evaluated(const at::Tensor& result, const char* function, const void* place);
  /// @param trainings  how many models are trained, each by its own optimizer
  void before_backward(const at::Tensor& loss, const void* place, std::size_t trainings);
  void after_backward() { scale_.after_backward(); }
  void before_step(const torch::optim::Optimizer& optimizer);
  /// @param models  the models whose parameters the optimizer holds
  void after_step(const std::vector<std::string>& models);
  void end_epoch();
  /// Whether backward() was called on any number.
  bool any() const { return names_.count() > 0; }
  /// Whether any loss has no name yet.
  bool any_nameless() const { return !nameless_.empty(); }

 private:
  struct Evaluated {
    at::Tensor result;
    const char* function;
    const void* place;
  };
  /// The relation of a loss function to the program's main loss.
  struct Role {
    bool is_loss = false;
    at::Tensor factor;  // loss divided by its result; undefined if they are equal
  };
  const void* origin_of(const at::Tensor& loss, const void* place, std::size_t trainings);
  void note_role(const at::Tensor& loss, const MadeLoss& made, bool is_main);
  void name_losses();
  void show(const std::string& name, const at::Tensor& loss, const MadeLoss& made);
  void show_scale(double scale);
  void show_waiting(bool without_scale);

  FoundValues& values_;
  Tell tell_;
  LossNames names_, validation_names_;
  std::map<std::string_view, LossNames> names_of_parts_;
  CallOrigins origins_;
  LossMakers makers_;
  LossScale scale_;
  std::map<std::string_view, Role> roles_;
  std::vector<Evaluated> early_;  // results before the first backward()
  std::vector<std::pair<const void*, std::uint64_t>> signatures_;
  std::set<const void*> in_step_;  // places that called backward() since the last step
  // Losses of places that have no name yet, and the models whose optimizers stepped since.
  std::vector<const void*> nameless_;
  std::vector<std::pair<const void*, LossScale::ScaledLoss>> nameless_losses_;
  std::set<std::string> stepped_;
};

}  // namespace loupe
