#include "torch/taps/norm_taps.h"

#include <ATen/Operators.h>
#include <torch/nn.h>

#include <optional>

#include "core/forks.h"
#include "core/threads.h"
#include "torch/redirect/redirections.h"
#include "torch/redirect/symbol_names.h"
#include "torch/redirect/virtual_entry.h"
#include "torch/taps/forward_scope.h"

namespace loupe {
namespace {

// The forward's scope lies open between its two calls, on the thread that runs it.
std::optional<ForwardScope>& open_norm() {
  return ThreadOwn<std::optional<ForwardScope>>::get();
}

template <class Norm>
struct CheckTap {
  struct Access : Norm {
    // The check is protected; a derived class may name it.
    static auto check() { return &Access::_check_input_dim; }
  };
  using Check = void (*)(Norm*, const at::Tensor&);

  // By virtual table: a user's own class derived from Norm has another.
  static inline ProcessMutex mutex;
  static inline auto& originals = *new std::unordered_map<void**, Check>();  // taps may outlive static destruction

  static void tap(Norm* self, const at::Tensor& input) {
    Check original = nullptr;
    {
      const std::lock_guard lock(mutex);
      original = originals.at(*reinterpret_cast<void***>(self));
    }
    original(self, input);  // throws on a wrong input, before anything is opened
    close_stale_norm();
    if (active_attachments.load(std::memory_order_relaxed) == 0) return;
    std::optional<ForwardScope>& norm = open_norm();
    norm.emplace(self, LOUPE_CALL_SITE);
    if (!norm->watched()) return norm.reset();
    ThreadState& state = thread_state();
    state.pending_norm = self;
    state.pending_input = input.unsafeGetTensorImpl();
    norm->enter(input);
  }

  static bool redirect(const Norm& norm) {
    void** const table = *reinterpret_cast<void** const*>(&norm);
    void** const entry = virtual_entry(&norm, Access::check());
    {
      const std::lock_guard lock(mutex);
      if (*entry != reinterpret_cast<void*>(&tap)) originals[table] = reinterpret_cast<Check>(*entry);
    }
    return Redirections::instance().redirect_entry(entry, reinterpret_cast<void*>(&tap));
  }
};

template <class Operator, class Signature = decltype(&Operator::call)>
struct OperatorTap;

template <class Operator, class... Arguments>
struct OperatorTap<Operator, at::Tensor (*)(const at::Tensor&, Arguments...)> {
  static at::Tensor tap(const at::Tensor& input, Arguments... arguments) {
    ThreadState& state = thread_state();
    const bool ours = state.pending_norm != nullptr && state.pending_input == input.unsafeGetTensorImpl();
    if (!ours) return Operator::call(input, std::forward<Arguments>(arguments)...);
    state.pending_norm = nullptr;
    try {
      at::Tensor result = Operator::call(input, std::forward<Arguments>(arguments)...);
      open_norm()->leave(result);
      open_norm().reset();
      return result;
    } catch (...) {
      open_norm().reset();
      throw;
    }
  }
};

template <class Operator>
const std::string& operator_symbol() {
  static const auto& symbol = *new std::string(symbol_of(reinterpret_cast<const void*>(&Operator::call)));
  return symbol;
}

template <class Operator>
void declare_operator() {
  Redirections::instance().declare(operator_symbol<Operator>(), reinterpret_cast<void*>(&OperatorTap<Operator>::tap),
                                   false);
}

template <class Norm, class Operator>
bool redirect_if(const torch::nn::Module& module) {
  const auto* norm = dynamic_cast<const Norm*>(&module);
  if (norm == nullptr) return false;
  return Redirections::instance().reaches(operator_symbol<Operator>()) && CheckTap<Norm>::redirect(*norm);
}

template <class... Norms>
bool is_any(const torch::nn::Module& module) {
  return (... || (dynamic_cast<const Norms*>(&module) != nullptr));
}

}  // namespace

bool is_tappable_norm(const torch::nn::Module& module) {
  using namespace torch::nn;
  return is_any<BatchNorm1dImpl, BatchNorm2dImpl, BatchNorm3dImpl, InstanceNorm1dImpl, InstanceNorm2dImpl,
                InstanceNorm3dImpl>(module);
}

void declare_norm_taps() {
  declare_operator<at::_ops::batch_norm>();
  declare_operator<at::_ops::instance_norm>();
}

bool tap_norm(const torch::nn::Module& module) {
  using namespace torch::nn;
  using at::_ops::batch_norm;
  using at::_ops::instance_norm;
  return redirect_if<BatchNorm1dImpl, batch_norm>(module) || redirect_if<BatchNorm2dImpl, batch_norm>(module) ||
         redirect_if<BatchNorm3dImpl, batch_norm>(module) || redirect_if<InstanceNorm1dImpl, instance_norm>(module) ||
         redirect_if<InstanceNorm2dImpl, instance_norm>(module) ||
         redirect_if<InstanceNorm3dImpl, instance_norm>(module);
}

void close_stale_norm() {
  ThreadState& state = thread_state();
  if (state.pending_norm == nullptr) return;
  state.pending_norm = nullptr;
  open_norm().reset();
}

}  // namespace loupe
