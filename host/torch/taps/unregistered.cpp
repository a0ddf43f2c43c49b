#include "torch/taps/unregistered.h"

#include <loupe/abi.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/forks.h"
#include "torch/model/module_types.h"
#include "torch/taps/function_taps.h"
#include "torch/tensor/compat.h"

namespace loupe {

namespace {

constexpr int most_looks = 4;
constexpr std::uint32_t steps_enough_inside = 1, steps_enough_elsewhere = 20;

ProcessMutex trained_mutex;
std::unordered_map<const OptimizerSteps*, std::unordered_set<const c10::TensorImpl*>>& trained() {
  static auto* trained = new std::unordered_map<const OptimizerSteps*, std::unordered_set<const c10::TensorImpl*>>();
  return *trained;  // taps may outlive static destruction
}

/// True if an unknown module with parameters was seen.
std::atomic<bool> any_in_doubt{false};

/// What optimizers of no attached model hold.
struct TrainedByOthers {
  struct Optimizer {
    const void* address;
    std::uint64_t parameters;  // their addresses, mixed
  };
  std::vector<Optimizer> known;
  std::unordered_set<const c10::TensorImpl*> parameters;

  static TrainedByOthers& instance() {
    static auto* others = new TrainedByOthers();  // taps may outlive static destruction
    return *others;
  }
};

bool is_trained(const at::Tensor& parameter) {
  const std::lock_guard lock(trained_mutex);
  const c10::TensorImpl* const itself = parameter.unsafeGetTensorImpl();
  return TrainedByOthers::instance().parameters.count(itself) != 0 ||
         std::any_of(trained().begin(), trained().end(),
                     [&](const auto& each) { return each.second.count(itself) != 0; });
}

/// Of some values, spread over all of them, where they can be read without waiting for a device.
std::uint64_t mixed_values(const at::Tensor& parameter) {
  if (!parameter.device().is_cpu() || !parameter.is_contiguous() || !parameter.has_storage()) return 0;
  constexpr std::size_t most = 64;
  const auto* bytes = static_cast<const char*>(const_data(parameter));
  const std::size_t size = parameter.element_size(), count = parameter.nbytes() / size;
  const std::size_t distance = std::max<std::size_t>(count / most, 1);
  std::uint64_t mixed = 0;
  for (std::size_t i = 0; i < count; i += distance)
    mixed = mixed * 31 + std::hash<std::string_view>()({bytes + i * size, size});
  return mixed;
}

}  // namespace

void set_trained_parameters(const OptimizerSteps* optimizers, std::unordered_set<const c10::TensorImpl*> parameters) {
  const std::lock_guard lock(trained_mutex);
  if (parameters.empty()) {
    trained().erase(optimizers);
  } else {
    trained()[optimizers] = std::move(parameters);
  }
}

void note_other_optimizer(const torch::optim::Optimizer& optimizer) {
  if (!any_in_doubt.load(std::memory_order_relaxed)) return;
  // Of all of them: another optimizer may lie where one was, and some of its parameters where the other's were.
  TrainedByOthers::Optimizer now{&optimizer, 0};
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params())
      now.parameters = now.parameters * 31 + reinterpret_cast<std::uintptr_t>(parameter.unsafeGetTensorImpl());
  }
  const std::lock_guard lock(trained_mutex);
  TrainedByOthers& others = TrainedByOthers::instance();
  for (const TrainedByOthers::Optimizer& each : others.known) {
    if (each.address == now.address && each.parameters == now.parameters) return;
  }
  // Programs that make an optimizer for each batch would fill the memory; what is forgotten is noted again.
  constexpr std::size_t most = 1024;
  if (others.known.size() == most) others = {};
  others.known.push_back(now);
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) others.parameters.insert(parameter.unsafeGetTensorImpl());
  }
}

bool UnregisteredModule::is_never_trained(const torch::nn::Module& itself, std::uint32_t steps, bool inside) {
  const bool first = looks_ == 0;
  const std::uint32_t steps_enough = inside ? steps_enough_inside : steps_enough_elsewhere;
  if (first) any_in_doubt.store(true, std::memory_order_relaxed);
  if (looks_ >= most_looks || (!first && steps < since_step_ + steps_enough)) return false;
  ++looks_;
  std::uint64_t now = 0, gradients_now = 0;
  bool has_gradients = false, has_optimizer = false, can_compare = true;
  for (const at::Tensor& parameter : itself.parameters()) {
    now = now * 31 + mixed_values(parameter);
    has_optimizer = has_optimizer || is_trained(parameter);
    if (!parameter.requires_grad()) continue;
    const at::Tensor& gradient = parameter.grad();
    has_gradients = has_gradients || gradient.defined();
    can_compare = can_compare && parameter.device().is_cpu();
    gradients_now = gradients_now * 31 + (gradient.defined() ? mixed_values(gradient) : 1);
  }
  const bool gets_gradients = has_gradients && (!can_compare || gradients_now != gradients_);
  gradients_ = gradients_now;
  const bool unchanged = !first && now == values_ && !has_optimizer;
  if (!first && !unchanged) looks_ = most_looks;  // somebody trains it
  values_ = now;
  since_step_ = steps;
  if (!unchanged || !gets_gradients) return false;
  looks_ = most_looks;
  return true;
}

UnregisteredModule& UnregisteredModules::find(const torch::nn::Module& module) {
  // Modules that were made one after another lie at even distances, which the product's uppermost bits scatter.
  const std::uint64_t scattered = reinterpret_cast<std::uintptr_t>(&module) * 0x9e3779b97f4a7c15ULL;
  Set& set = known_[scattered >> (64 - set_bits)];
  auto found = std::find_if(set.begin(), set.end(), [&](const auto& each) { return each.module == &module; });
  if (found != set.end() && found->type == &typeid(module)) return *found;
  if (found == set.end())
    found = std::find_if(set.begin(), set.end(), [](const auto& each) { return each.module == nullptr; });
  UnregisteredModule& known = found != set.end() ? *found : set[next_++ % ways];
  const std::string type = short_type(module.name());
  known = {};
  known.module = &module;
  known.type = &typeid(module);
  known.has_parameters = !module.parameters().empty();
  known.is_loss = family_of(type) == LOUPE_FAMILY_LOSS;
  known.kind = kind_of_module(type);
  return known;
}

}  // namespace loupe
