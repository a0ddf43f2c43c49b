#ifndef LOUPE_TORCH_FORWARD_SCOPE_H
#define LOUPE_TORCH_FORWARD_SCOPE_H

#include <c10/util/SmallVector.h>

#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include "torch/call_place.h"
#include "torch/registry.h"
#include "torch/unregistered.h"

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

class ForwardScope;
struct FunctionKind;

/// One forward of a model whose own forward no tap sees: from the first module or function in it on.
struct Pass {
  const Attachment* attachment = nullptr;  // only to compare with
  bool in_code = false;                    // its modules run below the code of the model's class
  std::uint64_t caller = 0;                // from where that was called
  const ModuleEntry* first = nullptr;      // the module that ran first
  /// The module that each model's pass ended with, as far as known.
  c10::SmallVector<std::pair<const Attachment*, const ModuleEntry*>, 4> final;
  /// Ways to the functions that were called before any module.
  std::array<std::uint64_t, 16> entries{};
  std::size_t entry_count = 0;
  /// Functions before any module, until the first module shows whose they are.
  struct Waiting {
    const FunctionKind* kind;
    at::Tensor input, output;
    uint32_t flags;
  };
  c10::SmallVector<Waiting, 16> waiting;
  bool told_of_waiting = false;
};

/// What one thread is in the middle of.
struct ThreadState {
  std::shared_ptr<const Registry::Table> table = std::make_shared<Registry::Table>();
  uint64_t generation = 0;
  int depth = 0;                      // tapped forwards entered and not left
  int opaque = 0;                     // of them, LibTorch's own leaves
  ForwardScope* scope = nullptr;      // the innermost of them
  const ModuleEntry* last = nullptr;  // the module that functions are named after: the one that ran last, or runs
  bool last_training = false;
  std::array<uint8_t, max_functions> occurrences{};  // of each function since
  Pass pass;
  CallPlaces places;
  UnregisteredModules unregistered;
  std::uint32_t steps = 0;                 // of attached optimizers
  const Attachment* last_model = nullptr;  // whose module or function ran last; only to compare with
  // A normalization whose forward was entered and whose operator was not yet called.
  torch::nn::Module* pending_norm = nullptr;
  const c10::TensorImpl* pending_input = nullptr;
  // Only to compare with: what softsign was begun on, its magnitude, and what it is to divide by.
  const c10::TensorImpl* softsign_input = nullptr;
  const c10::TensorImpl* softsign_magnitude = nullptr;
  const c10::TensorImpl* softsign_divisor = nullptr;
};
ThreadState& thread_state();

/// One forward of one module while it runs. Tells everybody who watches, also when the forward throws.
class ForwardScope {
 public:
  /// @param site  of the call to the forward, where a tap knows it
  explicit ForwardScope(torch::nn::Module* module, const CallSite& site = {});
  ForwardScope(const ForwardScope&) = delete;
  ForwardScope& operator=(const ForwardScope&) = delete;
  ~ForwardScope();

  bool watched() const { return entry_ != nullptr; }
  /// Before the forward runs.
  template <class... Arguments>
  void enter(const Arguments&... arguments) {
    if (entry_ == nullptr && kind_ == nullptr) return;
    TensorList inputs;
    if (wants_inputs()) (collect(inputs, arguments), ...);
    enter_with(inputs);
  }
  /// After it returned.
  template <class Result>
  void leave(const Result& result) {
    if (entry_ == nullptr && kind_ == nullptr) return;
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
  void begin_outermost();
  void enter_unregistered();
  void leave_as_function(const TensorList& outputs);
  bool wants_inputs() const;
  void enter_with(const TensorList& inputs);
  void keep(const TensorList& inputs);
  void leave_with(const TensorList& outputs);

  torch::nn::Module* module_;
  CallSite site_;
  ForwardScope* outer_;
  const ModuleEntry* entry_ = nullptr;
  const FunctionKind* kind_ = nullptr;                // what a module that nobody registered counts as
  bool opaque_ = false;                               // functions called inside are its business
  bool began_ = false;                                // a module inside it ran
  std::array<uint8_t, max_functions> occurrences_{};  // of functions before that
  c10::SmallVector<at::Tensor, 2> inputs_;            // kept only where somebody reads them after the forward
};

/// A function's result seen outside of any opaque module.
struct FunctionKind {
  const char* name;
  uint32_t family;
  int index;
};
/// @param site  of the call  @param flags  LOUPE_EVENT_DROPS
void function_called(const FunctionKind& kind, const at::Tensor& input, const at::Tensor& output, const CallSite& site,
                     uint32_t flags = 0);
/// A cross entropy is about to be computed of these scores: told to the model that ran last on this thread.
void cross_entropy_called(const at::Tensor& scores);
/// Whatever the thread's forward was, it is over: what comes is no function of it. Any thread, for itself.
void end_pass();
/// The same at an optimizer's step.
void note_step();

}  // namespace loupe

#endif
