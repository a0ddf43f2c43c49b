#include "run/loss_taps.h"

#include <ATen/Operators.h>
#include <ATen/core/Reduction.h>

#include <cstring>
#include <type_traits>

#include "torch/redirect/redirections.h"
#include "torch/redirect/symbol_names.h"
#include "torch/taps/forward_scope.h"

namespace loupe {
namespace {

const LossListener* listener = nullptr;
thread_local int losses_running = 0;  // one loss function may call another

bool is_number(const at::Tensor& value) {
  return value.defined() && value.numel() == 1 && at::isFloatingType(value.scalar_type());
}

template <class Member>
struct BackwardTap;
template <class... Arguments>
struct BackwardTap<void (at::Tensor::*)(Arguments...) const> {
  static inline void (*real)(const at::Tensor*, Arguments...) = nullptr;
  static void tap(const at::Tensor* self, Arguments... arguments) {
    if (is_number(*self)) listener->before_backward(*self, __builtin_return_address(0));
    real(self, std::forward<Arguments>(arguments)...);
  }
  static void declare() {
    const auto member = &at::Tensor::_backward;
    void* address = nullptr;
    std::memcpy(&address, &member, sizeof address);
    std::memcpy(&real, &address, sizeof address);
    Redirections::instance().declare(symbol_of(address), reinterpret_cast<void*>(&tap), false);
  }
};

template <class Function>
struct BackwardOfManyTap;
template <class... Arguments>
struct BackwardOfManyTap<void (*)(const torch::autograd::variable_list&, Arguments...)> {
  static inline void (*real)(const torch::autograd::variable_list&, Arguments...) = nullptr;
  static void tap(const torch::autograd::variable_list& tensors, Arguments... arguments) {
    // Several at one place are told apart by the bytes behind it, which no other call begins with.
    const auto* place = static_cast<const char*>(__builtin_return_address(0));
    for (std::size_t i = 0; i < tensors.size() && i < 4; ++i) {
      if (is_number(tensors[i])) listener->before_backward(tensors[i], place + i);
    }
    real(tensors, std::forward<Arguments>(arguments)...);
  }
  static void declare() {
    real = &torch::autograd::backward;
    Redirections::instance().declare(symbol_of(reinterpret_cast<void*>(real)), reinterpret_cast<void*>(&tap), false);
  }
};

template <class First, class... Rest>
int64_t reduction_of(const First& first, const Rest&... rest) {
  if constexpr (std::is_same_v<First, int64_t>) {
    return first;
  } else if constexpr (sizeof...(rest) > 0) {
    return reduction_of(rest...);
  } else {
    return at::Reduction::Mean;
  }
}

template <class Operator, class Signature = decltype(&Operator::call)>
struct LossTap;
template <class Operator, class... Arguments>
struct LossTap<Operator, at::Tensor (*)(const at::Tensor&, Arguments...)> {
  struct Running {
    Running() { ++losses_running; }
    ~Running() { --losses_running; }
  };
  static at::Tensor tap(const at::Tensor& input, Arguments... arguments) {
    const bool is_outermost = losses_running == 0;
    if constexpr (std::is_same_v<Operator, at::_ops::cross_entropy_loss>) {
      if (active_attachments.load(std::memory_order_relaxed) != 0) cross_entropy_called(input);
    }
    const int64_t reduction = reduction_of(arguments...);
    at::Tensor result = [&] {
      const Running running;
      return Operator::call(input, std::forward<Arguments>(arguments)...);
    }();
    if (is_outermost && is_number(result) && !result.requires_grad()) {
      const bool is_sum = reduction == at::Reduction::Sum && input.dim() > 0 && input.size(0) > 0;
      const at::NoGradGuard no_graph;
      listener->evaluated(is_sum ? result / input.size(0) : result, __builtin_return_address(0));
    }
    return result;
  }
};

template <class... Operators>
void declare_losses() {
  (Redirections::instance().declare(symbol_of(reinterpret_cast<const void*>(&Operators::call)),
                                    reinterpret_cast<void*>(&LossTap<Operators>::tap), true),
   ...);
}

}  // namespace

void declare_loss_taps(const LossListener& told) {
  using namespace at::_ops;
  listener = &told;
  BackwardTap<decltype(&at::Tensor::_backward)>::declare();
  BackwardOfManyTap<decltype(&torch::autograd::backward)>::declare();
  declare_losses<binary_cross_entropy, binary_cross_entropy_with_logits, cosine_embedding_loss, cross_entropy_loss,
                 hinge_embedding_loss, huber_loss, kl_div, l1_loss, margin_ranking_loss, mse_loss, multi_margin_loss,
                 multilabel_margin_loss, nll_loss, nll_loss2d, nll_loss_nd, poisson_nll_loss, smooth_l1_loss,
                 soft_margin_loss, triplet_margin_loss>();
}

}  // namespace loupe
