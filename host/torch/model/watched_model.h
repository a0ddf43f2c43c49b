#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

namespace loupe {

struct FunctionKind;
struct FunctionPoint;
struct TapPoint;

/// What taps ask of the model that they see something of, and tell it. On any thread that runs or trains the model.
class WatchedModel {
 public:
  virtual ~WatchedModel() = default;

  /// The point of a function after a module, made here where it is seen for the first time; null once the model is
  /// detached.
  virtual std::shared_ptr<FunctionPoint> function_after(TapPoint& after, const FunctionKind& kind,
                                                        std::size_t occurrence) = 0;
  /// A module with parameters that runs after another and that nobody registered, so that it is never trained: shown to
  /// the lenses, by that flag.
  virtual void add_unregistered(const torch::nn::Module& module, const TapPoint& after) = 0;
  /// Whether the model holds the module by now, though it may not have at attach.
  virtual bool has_registered(const torch::nn::Module& module) const = 0;

  /// Whether the optimizer holds parameters of the model, or was attached with it.
  virtual bool concerns(const torch::optim::Optimizer& optimizer) const = 0;
  /// An optimizer that was seen at work, attached or not.
  virtual void meet(torch::optim::Optimizer& optimizer) = 0;
  virtual void before_step(torch::optim::Optimizer& optimizer) = 0;
  virtual void after_step(torch::optim::Optimizer& optimizer) = 0;
  /// After after_step of all models that the step concerns.
  virtual void end_step() = 0;
  /// After end_step, when no lock is held: tells the trainer what lenses found.
  virtual void deliver_findings() = 0;
  /// At the start of a forward: looks for a step that no tap saw, by the versions of the parameters.
  virtual void notice_unseen_step() = 0;
  /// In a process that was forked: nothing is seen of the model any more. Takes no lock and no memory.
  virtual void abandon() = 0;
};

}  // namespace loupe
