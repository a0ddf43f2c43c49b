#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pipeline/module_node.h"
#include "torch/redirect/symbols.h"
#include "torch/tensor/compat.h"
#include "torch/tensor/parameter_changes.h"

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

/// The model as taps know it. On any thread that runs or trains it.
class WatchedModel {
 public:
  virtual ~WatchedModel() = default;

  /// The point of a function after a module, created when it is first seen; null once the model is detached.
  virtual std::shared_ptr<FunctionPoint> function_after(TapPoint& after, const FunctionKind& kind,
                                                        std::size_t occurrence) = 0;
  /// Shows lenses a module that is not registered, and so is never trained. Returns whether it is the model's first.
  virtual bool add_unregistered(const torch::nn::Module& module, const TapPoint& after) = 0;
  /// Whether the model holds the module now; it may not have done so at attach.
  virtual bool has_registered(const torch::nn::Module& module) const = 0;

  /// Whether the optimizer holds parameters of the model, or was attached with it.
  virtual bool concerns(const torch::optim::Optimizer& optimizer) const = 0;
  /// An optimizer was seen at work, attached or not.
  virtual void meet(torch::optim::Optimizer& optimizer) = 0;
  virtual void before_step(torch::optim::Optimizer& optimizer) = 0;
  virtual void after_step(torch::optim::Optimizer& optimizer) = 0;
  /// Called after after_step of all models that the step concerns.
  virtual void end_step() = 0;
  /// Called after end_step, with no lock held: reports the lenses' findings to the trainer.
  virtual void deliver_findings() = 0;
  /// Called at the start of a forward: detects a step that no tap saw, by the versions of the parameters.
  virtual void notice_unseen_step() = 0;
  /// Stops watching the model, in a forked process. Takes no lock and allocates nothing.
  virtual void abandon() = 0;
};

/// A parameter or buffer of a tapped module, with its subscribed streams. Members used by every step come first.
struct ParameterTap {
  at::Tensor tensor;  // kept until the model's death is noticed
  Stream* step = nullptr;
  Stream* step_gradient = nullptr;
  uint64_t holders = 0;  // a bit for each optimizer that holds it, as OptimizerSteps counts them
  uint32_t version = 0;  // the version at the last step, or at the last check for one
  bool is_buffer = false;
  bool is_left = false;             // its module's forward uses another tensor
  bool stepped = false;             // a tap saw a step since the last check for unseen steps
  bool stepped_since_tick = false;  // a tap saw a step, or the trainer reported one
  uint64_t values = 0;              // a hash of some of its values at the last tick

  Stream* gradient = nullptr;
  Stream* tick = nullptr;
  std::shared_ptr<KeptGradient> kept_gradient;  // set if gradients and steps are watched
  std::string name;
  // The node with the hook, and the parameter's keys when the hook was added; without redirections.
  NodeHandle accumulator;
  c10::DispatchKeySet hooked_keys;
  c10::ScalarType hooked_type = c10::ScalarType::Undefined;

  /// Whether an optimizer could change it.
  bool trains() const { return !is_buffer && !is_left && tensor.requires_grad(); }
};

/// A value that a labelled stream reads from its module at a forward.
struct AttributeTap {
  std::function<at::Tensor()> get;
  Stream* stream;
};

/// A listener called around the forwards of one module, independent of inspectors and lenses: the C++ classes of
/// difference_monitor.h and recorders.h. The tensors are the caller's, in order; on the model's thread.
class ForwardListener {
 public:
  virtual ~ForwardListener() = default;
  virtual void entered(torch::nn::Module& module, const at::Tensor* const* inputs, std::size_t count) = 0;
  virtual void left(torch::nn::Module& module, const at::Tensor* const* inputs, std::size_t input_count,
                    const at::Tensor* const* outputs, std::size_t output_count) = 0;
};

constexpr uint8_t ran_at_all = 1, ran_in_training = 2;

/// The streams of a module's or a function's results. Fixed once published, except which are awake.
struct ResultPoint {
  std::shared_ptr<const std::atomic<bool>> active;  // the attachment's; outlives it
  std::shared_ptr<ModuleNode> node;
  Stream* forward = nullptr;
  Stream* output_gradient = nullptr;
  TapState forward_state;        // a copy of the state of `forward`, in this cache line
  bool wants_tensors = false;    // a source reads all inputs and outputs
  bool redirects = true;         // calls into LibTorch may be redirected
  bool is_simple = false;        // at most `forward` watches its own forward
  std::vector<Stream*> further;  // streams of further outputs and inputs, and of their gradients

  ~ResultPoint() {
    if (forward != nullptr) forward->copy_state(nullptr);
  }

  bool listening() const { return active->load(std::memory_order_relaxed); }
  bool is_awake() const { return forward != nullptr && !forward_state.resting.load(std::memory_order_relaxed); }
  /// Whether the inputs and outputs of the running forward are read.
  bool reads_tensors() const {
    return wants_tensors && (forward_state.reads_tensors.load(std::memory_order_relaxed) || !further.empty());
  }
};

/// A function of LibTorch that counts as a separate layer, for example torch::relu.
struct FunctionKind {
  const char* name;
  uint32_t family;
  int index;
};

/// A function that was called after one module, such as torch::relu.
struct FunctionPoint : ResultPoint {};

/// One module of one attached model, as taps find it; or one that only a listener watches, which has no node.
struct alignas(64) TapPoint : ResultPoint {
  // Members used by every forward come first.
  std::weak_ptr<torch::nn::Module> owner;
  bool has_owner = false;
  bool has_gradient_streams = false;
  std::atomic<bool> checks_steps{false};  // an optimizer may step unseen
  // The forwards seen so far, and whether the tap surely sees this module's forward.
  std::atomic<uint8_t> ran{0};  // ran_at_all, ran_in_training
  bool opaque = false, perhaps = false;
  // Absent in simple tap points.
  std::shared_ptr<ForwardListener> listener;  // instead of streams
  Stream* before = nullptr;
  Stream* input_gradient = nullptr;
  Stream* loss_input = nullptr;  // only set for the root
  // The ranges of the root's code, and whether nothing below it is tapped; only set for the root.
  std::vector<CodeRange> code;
  bool is_root = false, only_functions = false;
  std::vector<ParameterTap> parameters;
  LeafMutex lending;  // held while they are emptied, or lent for a dead module

  std::vector<AttributeTap> attributes_before, attributes_after;
  const WatchedModel* model_id = nullptr;  // only to compare with
  std::weak_ptr<WatchedModel> attachment;
  torch::nn::Module* module = nullptr;  // only to compare with, unless `owner` is alive
  /// Functions called after this module: by the FunctionKind's index, then by occurrence. Under functions_mutex.
  OrderedMutex<std::mutex, LockRank::functions> functions_mutex;
  std::atomic<bool> told_of_functions{false};  // a warning about too many was logged
  std::vector<std::vector<std::shared_ptr<FunctionPoint>>> functions;

  bool alive() const { return !has_owner || !owner.expired(); }
  /// The functions of one kind, by occurrence. Under functions_mutex.
  std::vector<std::shared_ptr<FunctionPoint>>& functions_of(int kind) {
    const auto index = static_cast<std::size_t>(kind);
    if (functions.size() <= index) functions.resize(index + 1);
    return functions[index];
  }
};

}  // namespace loupe
