#ifndef LOUPE_TORCH_TAP_POINT_H
#define LOUPE_TORCH_TAP_POINT_H

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/module_node.h"
#include "torch/compat.h"

namespace loupe {

class Attachment;

/// A parameter or buffer of a tapped module, with the streams that somebody subscribed to. What every step looks at
/// comes first.
struct ParameterTap {
  at::Tensor tensor;  // kept until the model's death is noticed
  Stream* step = nullptr;
  Stream* step_gradient = nullptr;
  Stream* gradient = nullptr;
  // The hook on the parameter's accumulator: laid again when the parameter moves, or is thawed.
  std::uintptr_t hook = 0;
  c10::DispatchKeySet hooked_keys;
  c10::ScalarType hooked_type = c10::ScalarType::Undefined;
  bool is_buffer = false;
  bool in_optimizer = false;
  uint32_t version = 0;  // at the last step

  Stream* tick = nullptr;
  NodeHandle accumulator;
  std::string name;
};

/// A value that a labelled stream reads off its module at a forward.
struct AttributeTap {
  std::function<at::Tensor()> get;
  Stream* stream;
};

/// Who is called around the forwards of one module, past inspectors and lenses: the C++ classes of difference_monitor.h
/// and recorders.h. The tensors are the caller's, in order; on the model's thread.
class ForwardListener {
 public:
  virtual ~ForwardListener() = default;
  virtual void entered(torch::nn::Module& module, const at::Tensor* const* inputs, std::size_t count) = 0;
  virtual void left(torch::nn::Module& module, const at::Tensor* const* inputs, std::size_t input_count,
                    const at::Tensor* const* outputs, std::size_t output_count) = 0;
};

/// One module of one attached model, as taps find it. What it points at is fixed once it is published.
struct alignas(64) TapPoint {
  // What every forward looks at comes first.
  std::shared_ptr<const std::atomic<bool>> active;  // the attachment's; outlives it
  std::shared_ptr<ForwardListener> listener;        // instead of streams; such a point has no node
  Stream* before = nullptr;
  Stream* forward = nullptr;
  Stream* output_gradient = nullptr;
  Stream* input_gradient = nullptr;

  std::weak_ptr<torch::nn::Module> owner;
  bool has_owner = false;
  bool has_gradient_streams = false;
  bool checks_steps = false;   // the optimizer may step unseen
  bool wants_tensors = false;  // somebody reads all inputs and outputs
  std::shared_ptr<ModuleNode> node;
  std::vector<ParameterTap> parameters;

  std::vector<AttributeTap> attributes_before, attributes_after;
  const Attachment* attachment_id = nullptr;  // only to compare with
  std::weak_ptr<Attachment> attachment;
  torch::nn::Module* module = nullptr;  // only to compare with, unless `owner` is alive
  /// Functions called after this module: by the FunctionKind's index, then by how often since. Under functions_mutex.
  std::mutex functions_mutex;
  std::atomic<bool> told_of_functions{false};  // that there are too many
  std::vector<std::vector<std::shared_ptr<TapPoint>>> functions;

  bool alive() const { return !has_owner || !owner.expired(); }
  bool listening() const { return active->load(std::memory_order_relaxed); }
};

}  // namespace loupe

#endif
