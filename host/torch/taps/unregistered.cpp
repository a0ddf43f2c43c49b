#include "torch/taps/unregistered.h"

#include <loupe/abi.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "torch/model/module_types.h"
#include "torch/taps/function_taps.h"
#include "torch/tensor/parameter_changes.h"

namespace loupe {
namespace {

constexpr int most_looks = 4;
constexpr std::uint32_t steps_enough_inside = 1, steps_enough_elsewhere = 20;

/// Whether any module is in doubt, that is, its trainer is unknown.
std::atomic<bool> any_in_doubt{false};

/// Parameters of optimizers of no attached model.
struct TrainedByOthers {
  ProcessMutex mutex;
  struct Optimizer {
    const void* address;
    std::uint64_t parameters;  // hash of their addresses
  };
  std::vector<Optimizer> known;
  std::unordered_set<const c10::TensorImpl*> parameters;

  static TrainedByOthers& instance() {
    static auto* others = new TrainedByOthers();  // taps may outlive static destruction
    return *others;
  }
};

bool is_trained(const at::Tensor& parameter) {
  const c10::TensorImpl* const itself = parameter.unsafeGetTensorImpl();
  if (trained_parameters().has(itself)) return true;
  TrainedByOthers& others = TrainedByOthers::instance();
  const std::lock_guard lock(others.mutex);
  return others.parameters.count(itself) != 0;
}

}  // namespace

void ParametersByModel::set(const OptimizerSteps* model, Set parameters) {
  const std::lock_guard lock(mutex_);
  if (parameters.empty()) {
    sets_.erase(model);
  } else {
    sets_[model] = std::move(parameters);
  }
  ++generation_;
}

bool ParametersByModel::has(const c10::TensorImpl* parameter) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(sets_.begin(), sets_.end(), [&](const auto& each) { return each.second.count(parameter) != 0; });
}

ParametersByModel& attached_parameters() {
  static auto* parameters = new ParametersByModel();  // optimizers may step during static destruction
  return *parameters;
}

ParametersByModel& trained_parameters() {
  static auto* parameters = new ParametersByModel();  // taps may outlive static destruction
  return *parameters;
}

std::uint64_t fingerprint_of(const torch::optim::Optimizer& optimizer) {
  std::uint64_t hash = 0;
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params())
      hash = (hash ^ reinterpret_cast<std::uintptr_t>(parameter.unsafeGetTensorImpl())) * 0x9e3779b97f4a7c15;
  }
  return hash;
}

void note_other_optimizer(const torch::optim::Optimizer& optimizer) {
  if (!any_in_doubt.load(std::memory_order_relaxed)) return;
  // All parameters count: another optimizer and some of its parameters may have the addresses of earlier ones.
  const TrainedByOthers::Optimizer now{&optimizer, fingerprint_of(optimizer)};
  TrainedByOthers& others = TrainedByOthers::instance();
  const std::lock_guard lock(others.mutex);
  for (const TrainedByOthers::Optimizer& each : others.known) {
    if (each.address == now.address && each.parameters == now.parameters) return;
  }
  // Programs that create an optimizer for each batch would fill the memory. Forgotten ones are noted again.
  constexpr std::size_t most = 1024;
  if (others.known.size() == most) {
    others.known.clear();
    others.parameters.clear();
  }
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
    now = now * 31 + sample_hash(parameter);
    has_optimizer = has_optimizer || is_trained(parameter);
    if (!parameter.requires_grad()) continue;
    const at::Tensor& gradient = parameter.grad();
    has_gradients = has_gradients || gradient.defined();
    can_compare = can_compare && parameter.device().is_cpu();
    gradients_now = gradients_now * 31 + (gradient.defined() ? sample_hash(gradient) : 1);
  }
  const bool gets_gradients = has_gradients && (!can_compare || gradients_now != gradients_);
  gradients_ = gradients_now;
  const bool unchanged = !first && now == values_ && !has_optimizer;
  if (!first && !unchanged) looks_ = most_looks;  // an optimizer trains it
  values_ = now;
  since_step_ = steps;
  if (!unchanged || !gets_gradients) return false;
  looks_ = most_looks;
  return true;
}

UnregisteredModule& UnregisteredModules::find(const torch::nn::Module& module) {
  // Modules created in sequence have evenly spaced addresses, which the product's uppermost bits scatter.
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
