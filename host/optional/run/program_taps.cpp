#include "run/program_taps.h"

#include <ATen/ATen.h>
#include <ATen/Operators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/data/samplers.h>
#include <torch/optim.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "torch/redirect/redirections.h"
#include "torch/tensor/compat.h"

namespace loupe {
namespace {

const ProgramListener* listener = nullptr;

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
    void* address = member_address(&at::Tensor::_backward);
    std::memcpy(&real, &address, sizeof address);
    declare_tap(address, &tap);
  }
};

template <class Function>
struct BackwardOfManyTap;
template <class... Arguments>
struct BackwardOfManyTap<void (*)(const torch::autograd::variable_list&, Arguments...)> {
  static inline void (*real)(const torch::autograd::variable_list&, Arguments...) = nullptr;
  static void tap(const torch::autograd::variable_list& tensors, Arguments... arguments) {
    // Addresses after this place, to which no other call returns, distinguish several losses of one call.
    const auto* place = static_cast<const char*>(__builtin_return_address(0));
    for (std::size_t i = 0; i < tensors.size() && i < 4; ++i) {
      if (is_number(tensors[i])) listener->before_backward(tensors[i], place + i);
    }
    real(tensors, std::forward<Arguments>(arguments)...);
    listener->after_backward();
  }
  static void declare() {
    real = &torch::autograd::backward;
    declare_tap(real, &tap);
  }
};

void loss_function_called(const at::Tensor& result, const at::Tensor& input, int64_t reduction, const char* function,
                          const void* place) {
  if (!is_number(result)) return;
  const char* colons = std::strstr(function, "::");
  const char* name = colons != nullptr ? colons + 2 : function;
  if (result.requires_grad()) return listener->computed(result, name);
  const bool is_sum = reduction == at::Reduction::Sum && input.dim() > 0 && input.size(0) > 0;
  const at::NoGradGuard no_graph;
  listener->evaluated(is_sum ? result / input.size(0) : result, name, place);
}

template <class Type, class Signature = decltype(&Type::reset)>
struct SamplerTap;
template <class Type, class Owner, class Size>
struct SamplerTap<Type, void (Owner::*)(Size)> {
  static void tap(Type* self, Size size) {
    listener->order_begins(self, /*is_loader=*/true);
    self->Type::reset(size);
  }
  /// The member is virtual, so a pointer to it does not contain its address; a loader calls it by name.
  static void declare(const std::string& type) {
    const std::string function = typeid(void(Size)).name();  // "Fv", the parameter, "E"
    const std::string parameter = function.substr(2, function.size() - 3);
    Redirections::instance().declare("_ZN5torch4data8samplers" + type + "5resetE" + parameter,
                                     reinterpret_cast<void*>(&tap), false);
  }
};

template <class Size>
std::uintptr_t number_of(const Size& size) {
  if constexpr (std::is_integral_v<Size>) {
    return static_cast<std::uintptr_t>(size);
  } else {
    return size.is_symbolic() ? 0 : static_cast<std::uintptr_t>(size.as_int_unchecked());
  }
}

template <class Operator, class Signature = decltype(&Operator::call)>
struct ShuffleTap;
template <class Operator, class Size, class... Arguments>
struct ShuffleTap<Operator, at::Tensor (*)(Size, Arguments...)> {
  static at::Tensor tap(Size size, Arguments... arguments) {
    // One function may shuffle the samples for training and those for validation.
    const auto place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
    constexpr std::uintptr_t scatter = 0x9e3779b9;
    listener->order_begins(reinterpret_cast<const void*>(place + number_of(size) * scatter), /*is_loader=*/false);
    return Operator::call(std::forward<Size>(size), std::forward<Arguments>(arguments)...);
  }
  static void declare() { declare_tap(&Operator::call, &tap); }
};

template <auto Step>
struct ScheduleTap;
template <class Scheduler, class... Arguments, void (Scheduler::*Step)(Arguments...)>
struct ScheduleTap<Step> {
  static void tap(Scheduler* self, Arguments... arguments) {
    listener->scheduled();
    (self->*Step)(arguments...);
  }
  static void declare() { declare_tap(member_address(Step), &tap); }
};

}  // namespace

void declare_program_taps(const ProgramListener& told) {
  using namespace torch::data::samplers;
  listener = &told;
  BackwardTap<decltype(&at::Tensor::_backward)>::declare();
  BackwardOfManyTap<decltype(&torch::autograd::backward)>::declare();
  set_loss_function_listener(&loss_function_called);
  SamplerTap<RandomSampler>::declare("13RandomSampler");
  SamplerTap<SequentialSampler>::declare("17SequentialSampler");
  SamplerTap<StreamSampler>::declare("13StreamSampler");
  SamplerTap<DistributedRandomSampler>::declare("24DistributedRandomSampler");
  SamplerTap<DistributedSequentialSampler>::declare("28DistributedSequentialSampler");
  ShuffleTap<at::_ops::randperm>::declare();
  ShuffleTap<at::_ops::randperm_generator>::declare();
  ScheduleTap<&torch::optim::LRScheduler::step>::declare();
#if LOUPE_TORCH_AT_LEAST(2, 0)
  ScheduleTap<&torch::optim::ReduceLROnPlateauScheduler::step>::declare();
#endif
}

}  // namespace loupe
