#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loupe/inspector.h"
#include "run/call_origin.h"
#include "run/loss_makers.h"
#include "run/loss_names.h"
#include "run/loss_scale.h"

namespace loupe {

/// The losses of a program that does not name them: which calls of backward() are on one loss, what it is called, and
/// which of the numbers that are computed while the program validates may be compared with it. One thread at a time.
class ProgramLosses {
 public:
  /// Says what a loss is taken to be.
  struct Tell {
    std::function<void(const std::string& guess)> guess;
    /// Of one that is trained, which has a name.
    std::function<void(const std::string& name, const std::string& what)> trained;
  };
  struct Names {
    std::string train, validation;
    std::vector<std::string> given;
  };
  ProgramLosses(Inspector& inspector, const Names& names, Tell tell);

  /// A loss function of LibTorch gave a number, within a graph or without.
  void computed(const at::Tensor& result, const char* function) { makers_.computed(result, function); }
  void evaluated(const at::Tensor& result, const char* function, const void* place);
  /// @param trainings  how many models are trained, each by an optimizer of its own
  void before_backward(const at::Tensor& loss, const void* place, std::size_t trainings);
  void after_backward() { scale_.after_backward(); }
  void before_step(const torch::optim::Optimizer& optimizer);
  /// @param models  of which the optimizer holds parameters
  void after_step(const std::vector<std::string>& models);
  void end_epoch();
  /// Whether backward() was called on any number.
  bool any() const { return names_.count() > 0; }
  /// Whether any of them has no name yet.
  bool any_nameless() const { return !nameless_.empty(); }

 private:
  struct Evaluated {
    at::Tensor result;
    const char* function;
    const void* place;
  };
  /// What a loss function is to the program's main loss.
  struct Role {
    bool is_loss = false;
    at::Tensor factor;  // of the loss to its result; undefined where they are equal
  };
  const void* origin_of(const at::Tensor& loss, const void* place, std::size_t trainings);
  void note_role(const at::Tensor& loss, const MadeLoss& made, bool is_main);
  void name_losses();
  void show(const std::string& name, const at::Tensor& loss, const MadeLoss& made);
  void show_scale(double scale);
  void show_waiting(bool without_scale);

  Inspector& inspector_;
  Tell tell_;
  LossNames names_, validation_names_;
  std::map<std::string_view, LossNames> names_of_parts_;
  CallOrigins origins_;
  LossMakers makers_;
  LossScale scale_;
  std::map<std::string_view, Role> roles_;
  std::vector<Evaluated> early_;  // before the first backward()
  std::vector<std::pair<const void*, std::uint64_t>> signatures_;
  std::set<const void*> in_step_;  // on which backward() was called since the last step
  // Losses of places that have no name yet, and the models whose optimizers stepped since.
  std::vector<const void*> nameless_;
  std::vector<std::pair<const void*, LossScale::Waiting>> nameless_losses_;
  std::set<std::string> stepped_;
};

}  // namespace loupe
