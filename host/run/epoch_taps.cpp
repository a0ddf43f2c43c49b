#include "run/epoch_taps.h"

#include <ATen/Operators.h>
#include <torch/data/samplers.h>
#include <torch/optim.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "torch/redirect/redirections.h"
#include "torch/redirect/symbol_names.h"
#include "torch/tensor/compat.h"

namespace loupe {
namespace {

const EpochListener* told_of_epochs = nullptr;

template <class Type, class Signature = decltype(&Type::reset)>
struct SamplerTap;
template <class Type, class Owner, class Size>
struct SamplerTap<Type, void (Owner::*)(Size)> {
  static void tap(Type* self, Size size) {
    told_of_epochs->order_begins(self, /*is_loader=*/true);
    self->Type::reset(size);
  }
  /// The member is virtual, so that no pointer to it says where it lies; a loader calls it by its name.
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
    told_of_epochs->order_begins(reinterpret_cast<const void*>(place + number_of(size) * scatter), /*is_loader=*/false);
    return Operator::call(std::forward<Size>(size), std::forward<Arguments>(arguments)...);
  }
  static void declare() {
    Redirections::instance().declare(symbol_of(reinterpret_cast<const void*>(&Operator::call)),
                                     reinterpret_cast<void*>(&tap), false);
  }
};

template <auto Step>
struct ScheduleTap;
template <class Scheduler, class... Arguments, void (Scheduler::*Step)(Arguments...)>
struct ScheduleTap<Step> {
  static void tap(Scheduler* self, Arguments... arguments) {
    told_of_epochs->scheduled();
    (self->*Step)(arguments...);
  }
  static void declare() {
    const auto member = Step;
    void* address = nullptr;
    std::memcpy(&address, &member, sizeof address);
    Redirections::instance().declare(symbol_of(address), reinterpret_cast<void*>(&tap), false);
  }
};

}  // namespace

void declare_epoch_taps(const EpochListener& told) {
  using namespace torch::data::samplers;
  told_of_epochs = &told;
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
