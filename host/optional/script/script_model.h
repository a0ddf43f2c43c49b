#pragma once

#include <torch/csrc/jit/api/module.h>
#include <torch/nn/module.h>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "torch/model/module_types.h"
#include "torch/tensor/compat.h"

namespace loupe {

/// "torch::nn::LinearImpl" for LibTorch's own; "models::Net" for a class of the user's, without the compiler's suffix
/// for classes of one name.
std::string script_type(const torch::jit::Module& script);

/// One module of a TorchScript model as a module of LibTorch's: the same parameters and buffers under the same names,
/// so it is watched like any other. It has no forward; the interpreter's operators show when the script's ran.
class ScriptLayer : public torch::nn::Module, public HasVisibility {
 public:
  explicit ScriptLayer(const torch::jit::Module& script);

  torch::jit::ObjectPtr script() const { return script_.lock(); }
  /// One of LibTorch's own modules: functions called inside it are not shown.
  bool is_opaque() const { return is_opaque_; }
  std::string path;  ///< dotted, below the model

 private:
  friend class ScriptModel;
  /// A tensor's slot in the script, and its last value.
  struct Slot {
    std::size_t index;
    std::string name;
    bool is_parameter;
    at::Tensor tensor;
    const void* elements;
  };
  /// Takes over the script's mode and replaced parameters. Returns whether any of its tensors was replaced or moved.
  bool follow();

  c10::weak_intrusive_ptr<c10::ivalue::Object> script_;
  std::vector<Slot> slots_;
  std::size_t training_slot_;
  bool is_opaque_;
};

/// Maps the elements of parameters and buffers to their layer, or to the first of several that share them.
class ScriptElements {
 public:
  const ScriptLayer* owner_of(const at::Tensor& tensor) const;
  /// Whether it is a buffer of whole numbers, as the count of batches that a batch norm keeps: the interpreter's
  /// optimizer may move operations on it.
  bool is_count(const at::Tensor& tensor) const;

 private:
  friend class ScriptModel;
  std::unordered_map<const void*, const ScriptLayer*> owners_;
  std::unordered_set<const void*> counts_;
};

/// The root of such a model, which knows all its layers. Made and followed on any thread that holds the script.
class ScriptModel : public ScriptLayer, public ScriptRoot {
 public:
  /// Finds or creates the model of this module.
  static std::shared_ptr<ScriptModel> of(const torch::jit::Module& script);
  /// Finds the live model that has this module at its root or below, and the layer of the module; null without one.
  static std::shared_ptr<ScriptModel> find(const c10::ivalue::Object* script, ScriptLayer*& layer);

  explicit ScriptModel(const torch::jit::Module& script);
  ~ScriptModel() override;

  bool script_lives() const override { return !script_.expired(); }
  /// Call it before a forward: takes over modes and replaced parameters, and returns where the elements lie.
  std::shared_ptr<const ScriptElements> follow_script();
  ScriptLayer* layer_of(const c10::ivalue::Object* script) const;

 private:
  void add_children(ScriptLayer& layer, const torch::jit::Module& script);

  std::mutex mutex_;                                  // of the members that a forward updates
  std::vector<std::shared_ptr<ScriptLayer>> layers_;  // below the root
  std::unordered_map<const c10::ivalue::Object*, ScriptLayer*> by_script_;
  std::shared_ptr<const ScriptElements> elements_;
};

}  // namespace loupe
