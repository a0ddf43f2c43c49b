#include "torch/model/left_parameters.h"

#include <torch/nn.h>
#include <string>
#include <type_traits>

namespace loupe {
namespace {

template <class Type>
const at::Tensor* member_of(const torch::nn::Module& module, const std::string& name, bool& is_known) {
  const auto* known = dynamic_cast<const Type*>(&module);
  is_known = is_known || known != nullptr;
  if (known == nullptr) return nullptr;
  if constexpr (std::is_same_v<Type, torch::nn::EmbeddingImpl> || std::is_same_v<Type, torch::nn::EmbeddingBagImpl>) {
    return name == "weight" ? &known->weight : nullptr;
  } else {
    return name == "weight" ? &known->weight : name == "bias" ? &known->bias : nullptr;
  }
}

template <class... Types>
const at::Tensor* member_of_any(const torch::nn::Module& module, const std::string& name) {
  const at::Tensor* found = nullptr;
  bool is_known = false;
  ((found = is_known ? found : member_of<Types>(module, name, is_known)), ...);
  return found;
}

/// The tensor that the module's forward uses by that name; null where that is not known.
const at::Tensor* used_by(const torch::nn::Module& module, const std::string& name) {
  using namespace torch::nn;
  return member_of_any<LinearImpl, EmbeddingImpl, EmbeddingBagImpl, Conv1dImpl, Conv2dImpl, Conv3dImpl,
                       ConvTranspose1dImpl, ConvTranspose2dImpl, ConvTranspose3dImpl, LayerNormImpl>(module, name);
}

/// "'weight' of 'wte'"; empty where no module has registered the tensor.
std::string owner_of(const at::Tensor& tensor, const std::vector<std::shared_ptr<TapPoint>>& points) {
  for (const auto& point : points) {
    for (const ParameterTap& tap : point->parameters) {
      if (tap.tensor.is_same(tensor)) return "'" + tap.name + "' of '" + point->node->description().name + "'";
    }
  }
  return "";
}

}  // namespace

std::vector<Finding> find_left_parameters(const std::vector<std::shared_ptr<TapPoint>>& points) {
  std::vector<Finding> findings;
  for (const auto& point : points) {
    const auto module = point->owner.lock();
    if (module == nullptr) continue;
    for (ParameterTap& tap : point->parameters) {
      if (tap.is_left || !tap.trains()) continue;
      const at::Tensor* used = used_by(*module, tap.name);
      if (used == nullptr || used->is_same(tap.tensor) || tap.tensor.grad().defined()) continue;
      tap.is_left = true;
      const std::string owner = used->defined() ? owner_of(*used, points) : "";
      Finding& finding = findings.emplace_back();
      finding.rule = "unchanged_parameter";
      finding.module = point->node->c_module();
      finding.parameter = tap.name;
      finding.message = "'" + tap.name + "' of '" + point->node->description().name +
                        "' is registered, but the forward uses another tensor, which was assigned to the member" +
                        (owner.empty() ? "" : " (" + owner + ")") +
                        ": what is registered gets no gradient, and is saved and loaded all the same";
      finding.advice =
          "share what computes, not the tensor: call torch::nn::functional::linear(x, embedding->weight) in the "
          "forward, "
          "or leave the module's own parameter out of the model";
    }
  }
  return findings;
}

}  // namespace loupe
