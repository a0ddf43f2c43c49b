#include "run/loss_makers.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/generated/Functions.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <string_view>
#include <typeinfo>
#include <unordered_set>
#include <utility>

namespace loupe {
namespace {

using torch::autograd::AccumulateGrad;
using torch::autograd::Node;

/// By the type, as Node::name() allocates.
bool is_any_of(const Node& node, std::initializer_list<const char*> names) {
  const char* type = typeid(node).name();
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return std::strstr(type, name) != nullptr; });
}

/// The only node below, and by which input; null where there are several.
std::pair<NodeHandle, std::size_t> only_below(const Node& node) {
  std::pair<NodeHandle, std::size_t> found;
  for (std::size_t i = 0; i < node.num_outputs(); ++i) {
    const auto& edge = node.next_edge(i);
    if (!edge.is_valid()) continue;
    if (found.first != nullptr) return {};
    found = {edge.function, i};
  }
  return found;
}

/// Whether what it makes is its input, but for a constant factor. Names as they are mangled, with their lengths.
bool is_factor(const Node& node) {
  return is_any_of(node, {"12MulBackward", "12DivBackward", "12NegBackward", "15ToCopyBackward", "13ViewBackward",
                          "16SqueezeBackward", "14CloneBackward", "14AliasBackward"});
}

double number_in(const torch::autograd::SavedVariable& saved) {
  const at::Tensor value = saved.unpack();
  const bool is_readable = value.defined() && value.numel() == 1 && value.device().is_cpu() && !value.is_complex();
  return is_readable ? value.item<double>() : 1;
}

/// What a multiplication multiplies by; 1 where that is not known.
double constant_of(Node& node, std::size_t input) {
  using namespace torch::autograd::generated;
  try {
    if (const auto* by_number = dynamic_cast<MulBackward1*>(&node))
      return by_number->other.isComplex() ? 1 : by_number->other.to<double>();
    if (const auto* by_tensor = dynamic_cast<MulBackward0*>(&node))
      return number_in(input == 0 ? by_tensor->other_ : by_tensor->self_);
  } catch (const std::exception&) {  // its graph is used up, which backward() says by itself
  }
  return 1;
}

template <class Call>
void each_node(const at::Tensor& loss, std::size_t most, Call&& call) {
  std::vector<Node*> waiting;
  std::unordered_set<const Node*> known;
  const auto add = [&](Node* node) {
    if (node != nullptr && known.size() < most && known.insert(node).second) waiting.push_back(node);
  };
  add(loss.grad_fn().get());
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (!call(*waiting[i])) return;
    for (std::size_t j = 0; j < waiting[i]->num_outputs(); ++j) add(waiting[i]->next_edge(j).function.get());
  }
}

}  // namespace

void LossMakers::computed(const at::Tensor& result, const char* function) {
  constexpr std::size_t most = 16;
  if (given_.size() == most) given_.pop_front();
  given_.push_back({WeakNodeHandle(result.grad_fn()), result.detach(), function});
}

MadeLoss LossMakers::of(const at::Tensor& loss) const {
  constexpr int most_factors = 8;
  MadeLoss made;
  made.unscaled = loss;
  NodeHandle node = loss.grad_fn();
  for (int factors = 0; node != nullptr && factors <= most_factors; ++factors) {
    const auto given = std::find_if(given_.rbegin(), given_.rend(),
                                    [&](const Given& each) { return each.node.lock().get() == node.get(); });
    if (given != given_.rend()) {
      made.function = given->function;
      made.result = given->result;
      made.has_factors = factors > 0;
      break;
    }
    if (!is_factor(*node)) break;
    auto [below, input] = only_below(*node);
    if (factors == 0 && below != nullptr) made.scale = constant_of(*node, input);
    node = std::move(below);
  }
  if (!(made.scale > 1)) made.scale = 1;
  if (made.scale == 1) return made;
  const at::NoGradGuard no_graph;
  if (std::isfinite(made.scale)) {
    made.unscaled = loss.detach() / made.scale;
  } else if (made.result.defined()) {
    made.unscaled = made.result;
  } else {
    made.scale = 1;
  }
  return made;
}

std::vector<LossLeaf> leaves_of(const at::Tensor& loss) {
  constexpr std::size_t most = 100000;
  std::vector<LossLeaf> leaves;
  each_node(loss, most, [&](Node& node) {
    if (const auto* leaf = dynamic_cast<AccumulateGrad*>(&node))
      leaves.push_back({leaf->variable.unsafeGetTensorImpl(), leaf->variable.sizes().vec()});
    return true;
  });
  return leaves;
}

std::uint64_t signature_of(const at::Tensor& loss) {
  constexpr std::size_t most = 64, most_operations = 4;
  std::uint64_t signature = 0;
  std::size_t operations = 0;
  each_node(loss, most, [&](Node& node) {
    if (const auto* leaf = dynamic_cast<AccumulateGrad*>(&node)) {
      signature = signature * 31 + reinterpret_cast<std::uintptr_t>(leaf->variable.unsafeGetTensorImpl());
      return false;
    }
    if (!is_factor(node) && operations++ < most_operations)
      signature = signature * 31 + std::hash<std::string_view>()(typeid(node).name());
    return true;
  });
  return signature;
}

}  // namespace loupe
