#include "torch/tensor/attribute_reader.h"

#include <torch/nn/module.h>

namespace loupe {
namespace {

using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

}  // namespace

std::function<at::Tensor()> attribute_reader(torch::nn::Module& module, const std::string& path,
                                             const std::string& label, const Exposed& exposed) {
  const auto shown = exposed.find({path, label});
  if (shown != exposed.end()) return shown->second;
  // A dotted label leads through children; what is in a module's own lists is found by itself.
  const auto dot = label.find('.');
  if (dot != std::string::npos) {
    const auto children = module.named_children();
    const auto* child = children.find(label.substr(0, dot));
    if (child == nullptr || *child == nullptr) return nullptr;
    const std::string child_path = path.empty() ? label.substr(0, dot) : path + "." + label.substr(0, dot);
    return attribute_reader(**child, child_path, label.substr(dot + 1), exposed);
  }
  const auto parameters = module.named_parameters(/*recurse=*/false);
  const auto buffers = module.named_buffers(/*recurse=*/false);
  const at::Tensor* tensor = parameters.find(label);
  if (tensor == nullptr) tensor = buffers.find(label);
  if (tensor == nullptr) return nullptr;
  return [known = WeakTensor(tensor->getIntrusivePtr())] {
    auto alive = known.lock();
    return alive ? at::Tensor(std::move(alive)) : at::Tensor();
  };
}

}  // namespace loupe
