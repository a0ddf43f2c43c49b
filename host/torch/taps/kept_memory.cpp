#include "torch/taps/kept_memory.h"

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

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

}  // namespace loupe
