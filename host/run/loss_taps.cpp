#include "run/loss_taps.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstring>
#include <utility>

#include "torch/redirect/redirections.h"
#include "torch/redirect/symbol_names.h"

namespace loupe {
namespace {

const LossListener* listener = nullptr;

bool is_number(const at::Tensor& value) {
  return value.defined() && value.numel() == 1 && at::isFloatingType(value.scalar_type());
}

template <class Member>
struct BackwardTap;
template <class... Arguments>
struct BackwardTap<void (at::Tensor::*)(Arguments...) const> {
  static inline void (*real)(const at::Tensor*, Arguments...) = nullptr;
  static void tap(const at::Tensor* self, Arguments... arguments) {
    const bool is_loss = is_number(*self);
    if (is_loss) listener->before_backward(*self, __builtin_return_address(0));
    real(self, std::forward<Arguments>(arguments)...);
    if (is_loss) listener->after_backward();
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
    listener->after_backward();
  }
  static void declare() {
    real = &torch::autograd::backward;
    Redirections::instance().declare(symbol_of(reinterpret_cast<void*>(real)), reinterpret_cast<void*>(&tap), false);
  }
};

}  // namespace

void declare_loss_taps(const LossListener& told) {
  listener = &told;
  BackwardTap<decltype(&at::Tensor::_backward)>::declare();
  BackwardOfManyTap<decltype(&torch::autograd::backward)>::declare();
  set_loss_function_listener(told.functions);
}

}  // namespace loupe
