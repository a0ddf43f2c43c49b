#include "torch/taps/kept_memory.h"

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <torch/optim.h>

#include <algorithm>
#include <utility>

namespace loupe {
namespace {

/// Calls with each tensor that has memory of its own.
template <class Call>
void each_tensor(const c10::IValue& value, const Call& call) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (tensor.defined() && tensor.has_storage()) call(tensor.storage());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (tensor.defined() && tensor.has_storage()) call(tensor.storage());
    }
  }
}

double bytes_of(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<double>(tensor.numel()) * static_cast<double>(tensor.element_size()) : 0;
}
template <class... Tensors>
double bytes_of(const at::Tensor& first, const Tensors&... others) {
  return bytes_of(first) + bytes_of(others...);
}

double bytes_of(const torch::optim::OptimizerParamState& state) {
  using namespace torch::optim;
  if (const auto* adam = dynamic_cast<const AdamParamState*>(&state))
    return bytes_of(adam->exp_avg(), adam->exp_avg_sq(), adam->max_exp_avg_sq());
  if (const auto* adamw = dynamic_cast<const AdamWParamState*>(&state))
    return bytes_of(adamw->exp_avg(), adamw->exp_avg_sq(), adamw->max_exp_avg_sq());
  if (const auto* sgd = dynamic_cast<const SGDParamState*>(&state)) return bytes_of(sgd->momentum_buffer());
  if (const auto* rmsprop = dynamic_cast<const RMSpropParamState*>(&state))
    return bytes_of(rmsprop->square_avg(), rmsprop->momentum_buffer(), rmsprop->grad_avg());
  if (const auto* adagrad = dynamic_cast<const AdagradParamState*>(&state)) return bytes_of(adagrad->sum());
  if (const auto* lbfgs = dynamic_cast<const LBFGSParamState*>(&state)) {
    double sum = bytes_of(lbfgs->d(), lbfgs->H_diag(), lbfgs->prev_flat_grad());
    for (const auto* list : {&lbfgs->old_dirs(), &lbfgs->old_stps(), &lbfgs->ro()}) {
      for (const at::Tensor& each : *list) sum += bytes_of(each);
    }
    return sum;
  }
  return 0;
}

}  // namespace

KeptMemory::Inputs KeptMemory::inputs_of(const at::RecordFunction& operation) {
  Inputs inputs;
  for (const c10::IValue& input : operation.inputs())
    each_tensor(input, [&](const c10::Storage& storage) { inputs.push_back(storage.unsafeGetStorageImpl()); });
  return inputs;
}

void KeptMemory::note(const at::RecordFunction& operation, const Inputs& inputs, int layer) {
  // Some versions of LibTorch show all that lies on the interpreter's stack, the operator's own results last.
  const auto& all = operation.outputs();
  const std::size_t count = std::min(operation.num_outputs(), all.size());
  for (std::size_t i = all.size() - count; i < all.size(); ++i) {
    each_tensor(all[i], [&](const c10::Storage& storage) {
      const c10::StorageImpl* memory = storage.unsafeGetStorageImpl();
      if (std::find(inputs.begin(), inputs.end(), memory) != inputs.end()) return;
      const auto known = made_.find(memory);
      if (known != made_.end() && !known->second.storage.expired()) return;
      made_.insert_or_assign(memory, Made{storage.getWeakStorageImpl(), layer});
    });
  }
}

std::vector<double> KeptMemory::take() {
  std::vector<double> bytes(1, 0);
  for (const auto& [memory, made] : made_) {
    const auto alive = made.storage.lock();
    if (alive == nullptr) continue;
    const auto place = static_cast<std::size_t>(made.layer + 1);
    if (bytes.size() <= place) bytes.resize(place + 1, 0);
    bytes[place] += static_cast<double>(alive->nbytes());
  }
  made_.clear();
  return bytes;
}

double state_bytes(const torch::optim::Optimizer& optimizer) {
  double sum = 0;
  for (const auto& [parameter, state] : optimizer.state()) sum += state != nullptr ? bytes_of(*state) : 0;
  return sum;
}

}  // namespace loupe
