#ifndef LOUPE_TORCH_FORWARD_SCOPE_H
#define LOUPE_TORCH_FORWARD_SCOPE_H

#include <c10/util/SmallVector.h>

#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include "torch/registry.h"

namespace loupe {

/// The tensors among a forward's arguments or results, in order.
using TensorList = c10::SmallVector<const at::Tensor*, 8>;

inline void collect(TensorList& list, const at::Tensor& tensor) {
  if (tensor.defined()) list.push_back(&tensor);
}
template <class T>
void collect(TensorList&, const T&) {}
template <class T>
void collect(TensorList& list, const std::vector<T>& values);
template <class... T>
void collect(TensorList& list, const std::tuple<T...>& values);
template <class T>
void collect(TensorList& list, const c10::optional<T>& value) {
  if (value.has_value()) collect(list, *value);
}
template <class T>
void collect(TensorList& list, const std::vector<T>& values) {
  for (const T& value : values) collect(list, value);
}
template <class... T>
void collect(TensorList& list, const std::tuple<T...>& values) {
  std::apply([&](const T&... value) { (collect(list, value), ...); }, values);
}

constexpr int max_functions = 64;
/// Calls of one function after one module that are told apart; a loop without modules may make any number.
constexpr std::uint8_t max_occurrences = 100;

/// What one thread is in the middle of.
struct ThreadState {
  std::shared_ptr<const Registry::Table> table = std::make_shared<Registry::Table>();
  uint64_t generation = 0;
  int depth = 0;                      // tapped forwards entered and not left
  int opaque = 0;                     // of them, LibTorch's own leaves
  const ModuleEntry* last = nullptr;  // the module that ran last
  bool last_training = false;
  std::array<uint8_t, max_functions> occurrences{};  // of each function since
  // A normalization whose forward was entered and whose operator was not yet called.
  torch::nn::Module* pending_norm = nullptr;
  const c10::TensorImpl* pending_input = nullptr;
};
ThreadState& thread_state();

/// One forward of one module while it runs. Tells everybody who watches, also when the forward throws.
class ForwardScope {
 public:
  explicit ForwardScope(torch::nn::Module* module);
  ForwardScope(const ForwardScope&) = delete;
  ForwardScope& operator=(const ForwardScope&) = delete;
  ~ForwardScope();

  bool watched() const { return entry_ != nullptr; }
  /// Before the forward runs.
  template <class... Arguments>
  void enter(const Arguments&... arguments) {
    if (entry_ == nullptr) return;
    TensorList inputs;
    if (wants_inputs()) (collect(inputs, arguments), ...);
    enter_with(inputs);
  }
  /// After it returned.
  template <class Result>
  void leave(const Result& result) {
    if (entry_ == nullptr) return;
    TensorList outputs;
    collect(outputs, result);
    leave_with(outputs);
  }

  /// The same with the tensors already collected.
  void enter_tensors(const TensorList& inputs) {
    if (entry_ != nullptr) enter_with(inputs);
  }
  void leave_tensors(const TensorList& outputs) {
    if (entry_ != nullptr) leave_with(outputs);
  }

 private:
  bool wants_inputs() const;
  void enter_with(const TensorList& inputs);
  void keep(const TensorList& inputs);
  void leave_with(const TensorList& outputs);

  torch::nn::Module* module_;
  const ModuleEntry* entry_ = nullptr;
  c10::SmallVector<at::Tensor, 2> inputs_;  // kept only where somebody reads them after the forward
};

/// A function's result seen outside of any opaque module.
struct FunctionKind {
  const char* name;
  uint32_t family;
  int index;
};
void function_called(const FunctionKind& kind, const at::Tensor& input, const at::Tensor& output);

}  // namespace loupe

#endif
