#include "run/bare_parameters.h"

#include <torch/optim/optimizer.h>

#include <algorithm>
#include <utility>

namespace loupe {
namespace {

std::int64_t rows_of(const at::Tensor& tensor) {
  return tensor.dim() > 0 ? tensor.size(0) : 1;
}

bool is_alike(const at::Tensor& a, const at::Tensor& b) {
  if (a.dim() != b.dim() || a.scalar_type() != b.scalar_type() || a.device() != b.device()) return false;
  return a.dim() < 2 || a.sizes().slice(1) == b.sizes().slice(1);
}

/// "Nx3": the number of rows may change.
std::string name_by_shape(const at::Tensor& tensor) {
  if (tensor.dim() == 0) return "scalar";
  std::string name = "N";
  for (const std::int64_t size : tensor.sizes().slice(1)) name += "x" + std::to_string(size);
  return name;
}

}  // namespace

std::vector<BareParameter> bare_parameters(const torch::optim::Optimizer& optimizer,
                                           const std::function<bool(const at::Tensor&)>& is_bare) {
  std::vector<BareParameter> found;
  const auto& groups = optimizer.param_groups();
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const auto& parameters = groups[group].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (is_bare(parameters[i])) found.push_back({&optimizer, group, i, parameters[i]});
    }
  }
  return found;
}

BareModel::BareModel() : torch::nn::Module("Parameters") {
  visibility.has_no_forward = true;
  visibility.reason = "it has no forward";
}

void BareModel::take(const BareParameter& parameter) {
  const std::string first = name_by_shape(parameter.tensor);
  std::string name = first;
  for (int number = 2; parameters_.contains(name); ++number) name = first + "#" + std::to_string(number);
  register_parameter(name, parameter.tensor, parameter.tensor.requires_grad());
  slots_.push_back({name, parameter.optimizer, parameter.group, parameter.index, false});
}

void BareModel::put(Slot& slot, const at::Tensor& tensor) {
  slot.has_grown = slot.has_grown || rows_of(tensor_of(slot)) != rows_of(tensor);
  parameters_[slot.name] = tensor;
}

bool BareModel::follow(const torch::optim::Optimizer& optimizer) {
  const auto& groups = optimizer.param_groups();
  bool any = false;
  for (Slot& slot : slots_) {
    if (slot.optimizer != &optimizer || slot.group >= groups.size()) continue;
    const auto& parameters = groups[slot.group].params();
    if (slot.index >= parameters.size() || !parameters[slot.index].defined()) continue;
    const at::Tensor& now = parameters[slot.index];
    // A new optimizer may have the address of a destroyed one.
    const at::Tensor& before = tensor_of(slot);
    if (now.unsafeGetTensorImpl() == before.unsafeGetTensorImpl() || !is_alike(before, now)) continue;
    put(slot, now);
    any = true;
  }
  return any;
}

const torch::optim::Optimizer* BareModel::adopt(const std::vector<BareParameter>& parameters,
                                                const std::function<bool(const torch::optim::Optimizer*)>& is_idle) {
  std::vector<Slot*> found;
  for (const BareParameter& each : parameters) {
    const auto fits = [&](const Slot& slot) {
      return is_idle(slot.optimizer) && is_alike(tensor_of(slot), each.tensor) &&
             std::find(found.begin(), found.end(), &slot) == found.end();
    };
    const auto slot = std::find_if(slots_.begin(), slots_.end(), fits);
    if (slot == slots_.end()) return nullptr;
    found.push_back(&*slot);
  }
  const torch::optim::Optimizer* const former = found.empty() ? nullptr : found[0]->optimizer;
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i]->optimizer = parameters[i].optimizer;
    found[i]->group = parameters[i].group;
    found[i]->index = parameters[i].index;
    put(*found[i], parameters[i].tensor);
  }
  return former;
}

ParameterSet BareModel::tensors() const {
  ParameterSet set;
  for (const Slot& slot : slots_) set.insert(tensor_of(slot).unsafeGetTensorImpl());
  return set;
}

void BareModel::each_length(const std::function<void(const std::string&, std::int64_t)>& show) const {
  for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
    const std::int64_t rows = rows_of(tensor_of(*slot));
    const auto is_same = [&](const Slot& other) { return other.has_grown && rows_of(tensor_of(other)) == rows; };
    if (slot->has_grown && std::none_of(slots_.begin(), slot, is_same)) show(slot->name, rows);
  }
}

}  // namespace loupe
