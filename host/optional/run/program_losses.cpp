#include "run/program_losses.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <dlfcn.h>
#include <loupe/text/number_text.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/generated/Functions.h>
#include <torch/optim/optimizer.h>
#include <unwind.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <string_view>
#include <typeinfo>
#include <unordered_set>
#include <utility>

#include "torch/redirect/symbols.h"

namespace loupe {
namespace {

bool holds(const std::vector<CodeRange>& code, std::uintptr_t address) {
  return std::any_of(code.begin(), code.end(),
                     [&](const CodeRange& each) { return address > each.begin && address <= each.end; });
}

struct OriginWalk {
  const std::vector<CodeRange>& code;
  std::uintptr_t from;
  bool begun = false;
  std::uintptr_t found = 0;
};

_Unwind_Reason_Code look_at(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<OriginWalk*>(data);
  const std::uintptr_t address = _Unwind_GetIP(context);
  walk.begun = walk.begun || address == walk.from;
  if (!walk.begun || holds(walk.code, address)) return _URC_NO_REASON;
  walk.found = address;
  return _URC_NORMAL_STOP;
}

}  // namespace

const std::vector<CodeRange>* CallOrigins::inline_code_at(const void* place) {
  Dl_info object{};
  if (dladdr(place, &object) == 0) return nullptr;
  const auto [known, is_new] = inline_code_.try_emplace(object.dli_fbase);
  if (is_new) known->second = find_member_code("at::Tensor", place);
  return holds(known->second, reinterpret_cast<std::uintptr_t>(place)) ? &known->second : nullptr;
}

const void* CallOrigins::of(const void* place) {
  // Looking up a place takes longer the more symbols the program has.
  const auto [known, is_new] = places_.try_emplace(place, nullptr);
  if (is_new) known->second = inline_code_at(place);
  if (known->second == nullptr) return place;
  OriginWalk walk{*known->second, reinterpret_cast<std::uintptr_t>(place)};
  _Unwind_Backtrace(&look_at, &walk);
  return walk.found != 0 ? reinterpret_cast<const void*>(walk.found) : place;
}

namespace {

using torch::autograd::AccumulateGrad;
using GraphNode = torch::autograd::Node;

/// Compares by type, because Node::name() allocates.
bool is_any_of(const GraphNode& node, std::initializer_list<const char*> names) {
  const char* type = typeid(node).name();
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return std::strstr(type, name) != nullptr; });
}

/// The only node below and the index of its edge; null if there are several.
std::pair<NodeHandle, std::size_t> only_below(const GraphNode& node) {
  std::pair<NodeHandle, std::size_t> found;
  for (std::size_t i = 0; i < node.num_outputs(); ++i) {
    const auto& edge = node.next_edge(i);
    if (!edge.is_valid()) continue;
    if (found.first != nullptr) return {};
    found = {edge.function, i};
  }
  return found;
}

/// Whether the node's result is its input times a constant. Type names are mangled, and begin with their lengths.
bool is_factor(const GraphNode& node) {
  return is_any_of(node, {"12MulBackward", "12DivBackward", "12NegBackward", "15ToCopyBackward", "13ViewBackward",
                          "16SqueezeBackward", "14CloneBackward", "14AliasBackward"});
}

double number_in(const torch::autograd::SavedVariable& saved) {
  const at::Tensor value = saved.unpack();
  const bool is_readable = value.defined() && value.numel() == 1 && value.device().is_cpu() && !value.is_complex();
  return is_readable ? value.item<double>() : 1;
}

/// The factor of a multiplication; 1 if unknown.
double constant_of(GraphNode& node, std::size_t input) {
  using namespace torch::autograd::generated;
  try {
    if (const auto* by_number = dynamic_cast<MulBackward1*>(&node))
      return by_number->other.isComplex() ? 1 : by_number->other.to<double>();
    if (const auto* by_tensor = dynamic_cast<MulBackward0*>(&node))
      return number_in(input == 0 ? by_tensor->other_ : by_tensor->self_);
  } catch (const std::exception&) {  // its graph is freed, which backward() will report
  }
  return 1;
}

template <class Call>
void each_node(const at::Tensor& loss, std::size_t most, Call&& call) {
  std::vector<GraphNode*> waiting;
  std::unordered_set<const GraphNode*> known;
  const auto add = [&](GraphNode* node) {
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
  if (computed_.size() == most) computed_.pop_front();
  computed_.push_back({WeakNodeHandle(result.grad_fn()), result.detach(), function});
}

MadeLoss LossMakers::of(const at::Tensor& loss) const {
  constexpr int most_factors = 8;
  MadeLoss made;
  made.unscaled = loss;
  NodeHandle node = loss.grad_fn();
  for (int factors = 0; node != nullptr && factors <= most_factors; ++factors) {
    const auto given = std::find_if(computed_.rbegin(), computed_.rend(),
                                    [&](const ComputedLoss& each) { return each.node.lock().get() == node.get(); });
    if (given != computed_.rend()) {
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
  each_node(loss, most, [&](GraphNode& node) {
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
  each_node(loss, most, [&](GraphNode& node) {
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

namespace {

double size_of(const at::Tensor& gradient) {
  if (!gradient.defined() || gradient.is_sparse()) return 0;
  const at::NoGradGuard no_graph;
  return gradient.detach().to(at::kDouble).abs().sum().item<double>();
}

}  // namespace

bool LossScale::is_likely(double scale) {
  constexpr double usual = 64;
  return scale >= usual;
}

at::Tensor LossScale::watched() const {
  auto alive = parameter_ ? parameter_->lock() : c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>();
  return alive.defined() ? at::Tensor(std::move(alive)) : at::Tensor();
}

void LossScale::after_backward() {
  if (is_divided_out_ || waiting_.empty()) return;
  const at::Tensor parameter = watched();
  if (parameter.defined()) as_made_ = size_of(parameter.grad());
}

void LossScale::before_step(const torch::optim::Optimizer& optimizer) {
  constexpr double rounding = 1e-2;
  if (is_divided_out_ || waiting_.empty()) return;
  const at::Tensor parameter = watched();
  if (parameter.defined() && as_made_ && std::isfinite(*as_made_) && *as_made_ > 0) {
    bool is_held = false;
    for (const auto& group : optimizer.param_groups()) {
      for (const at::Tensor& each : group.params()) is_held = is_held || each.is_same(parameter);
    }
    if (!is_held) return;
    const double scale = waiting_.back().made.scale, kept = size_of(parameter.grad()) / *as_made_ * scale;
    // Clipping may follow, and make gradients even smaller.
    const bool is_divided = std::abs(kept - 1) < rounding || (is_likely(scale) && kept < 1);
    // A copy of the parameters in single precision gets its gradients only now.
    const bool is_copy = is_likely(scale) && *as_made_ == at_step_;
    is_divided_out_ = is_divided || is_copy;
    return;
  }
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& each : group.params()) {
      const double size = size_of(each.grad());
      if (!(size > 0) || !std::isfinite(size)) continue;
      parameter_.emplace(each.getIntrusivePtr());
      at_step_ = size;
      return;
    }
  }
}

ProgramLosses::ProgramLosses(FoundValues& values, const Names& names, Tell tell)
    : values_(values),
      tell_(std::move(tell)),
      names_(names.train, names.given),
      validation_names_(names.validation, {}) {}

/// The place from which backward() is called. One loss may have several places, such as both arms of an `if`, but a
/// step uses only one of them.
const void* ProgramLosses::origin_of(const at::Tensor& loss, const void* place, std::size_t trainings) {
  const void* origin = origins_.of(place);
  if (!names_.knows(origin)) {
    const std::uint64_t signature = signature_of(loss);
    const auto same = std::find_if(signatures_.begin(), signatures_.end(),
                                   [&](const auto& each) { return each.second == signature; });
    if (same != signatures_.end() && in_step_.empty() && trainings == 1) {
      names_.join(origin, same->first);
    } else {
      signatures_.emplace_back(origin, signature);
    }
  }
  in_step_.insert(origin);
  return origin;
}

/// The result of a loss function in validation is compared with the training loss only if that loss is a result of the
/// same function.
void ProgramLosses::note_role(const at::Tensor& loss, const MadeLoss& made, bool is_main) {
  if (!is_main) return;
  for (auto& [function, role] : roles_) role.is_loss = false;
  if (made.function != nullptr) {
    Role& role = roles_[made.function];
    role.is_loss = true;
    role.factor = at::Tensor();
    const at::NoGradGuard no_graph;
    const bool without_scale = scale_.is_divided_out().value_or(LossScale::is_likely(made.scale));
    const at::Tensor shown = without_scale ? made.unscaled : loss;
    const auto is_zero = [&] { return made.result.device().is_cpu() && made.result.item<double>() == 0; };
    if (made.has_factors && !is_zero()) role.factor = shown.detach() / made.result;
  }
  for (const Evaluated& each : std::exchange(early_, {})) evaluated(each.result, each.function, each.place);
}

void ProgramLosses::before_backward(const at::Tensor& loss, const void* place, std::size_t trainings) {
  if (!stepped_.empty()) name_losses();
  const void* origin = origin_of(loss, place, trainings);
  const LossNames::Named named = names_.of(origin);
  const MadeLoss made = makers_.of(loss);
  note_role(loss, made, named.is_main);
  const bool waits = std::find(nameless_.begin(), nameless_.end(), origin) != nameless_.end();
  if (waits || (named.is_new && trainings > 1 && names_.is_numbered(origin))) {
    if (!waits) nameless_.push_back(origin);
    nameless_losses_.emplace_back(origin, LossScale::ScaledLoss{"", loss.detach(), made});
    return;
  }
  if (named.name.empty()) return;
  if (named.is_new)
    tell_.trained(named.name,
                  std::string("the loss on which backward() is called") + (named.is_main ? "" : " at a further place"));
  show(named.name, loss, made);
}

void ProgramLosses::show(const std::string& name, const at::Tensor& loss, const MadeLoss& made) {
  constexpr std::size_t most_waiting = 256;
  const bool is_scaled = made.scale != 1;
  if (is_scaled && !scale_.is_divided_out()) {
    scale_.wait({name, loss.detach(), made});
    if (scale_.count() == most_waiting) show_waiting(LossScale::is_likely(made.scale));
    return;
  }
  const bool without_scale = is_scaled && *scale_.is_divided_out();
  values_.show_loss(name, without_scale ? made.unscaled : loss, /*train=*/true);
  if (without_scale) show_scale(made.scale);
}

void ProgramLosses::show_scale(double scale) {
  if (std::isfinite(scale)) values_.show_metric("loss scale", at::scalar_tensor(scale, at::kDouble));
}

void ProgramLosses::show_waiting(bool without_scale) {
  for (const LossScale::ScaledLoss& each : scale_.take()) {
    values_.show_loss(each.name, without_scale ? each.made.unscaled : each.loss, /*train=*/true);
    if (without_scale) show_scale(each.made.scale);
  }
}

void ProgramLosses::before_step(const torch::optim::Optimizer& optimizer) {
  in_step_.clear();
  if (!scale_.any_waits()) return;
  scale_.before_step(optimizer);
  if (!scale_.is_divided_out()) return;
  const bool is_divided = *scale_.is_divided_out();
  if (is_divided) tell_.guess("the loss is shown without its scale: gradients are divided by that before a step");
  show_waiting(is_divided);
}

void ProgramLosses::after_step(const std::vector<std::string>& models) {
  if (!nameless_.empty()) stepped_.insert(models.begin(), models.end());
}

/// With several models, a loss is named after the model whose optimizer steps next, if it is a single one.
void ProgramLosses::name_losses() {
  for (const void* place : std::exchange(nameless_, {})) {
    const LossNames::Named numbered = names_.of(place);
    std::string name = numbered.name, when = numbered.is_main ? "" : " at a further place";
    if (stepped_.size() == 1) {
      name = names_.call(place, *stepped_.begin() + " loss");
      when = " before an optimizer of '" + *stepped_.begin() + "' steps";
    }
    tell_.trained(name, "the loss on which backward() is called" + when);
  }
  stepped_.clear();
  for (const auto& [place, waiting] : std::exchange(nameless_losses_, {}))
    show(names_.of(place).name, waiting.loss, waiting.made);
}

void ProgramLosses::end_epoch() {
  if (!nameless_.empty()) name_losses();
  // If there was no step, gradients have overflowed, as they may at first, or are still being accumulated.
  if (scale_.any_waits()) show_waiting(scale_.is_likely_of_waiting());
}

namespace {

/// ", times 0.5 like the trained loss", if that is known without waiting for a device.
std::string text_of_factor(const at::Tensor& factor) {
  constexpr double rounding = 1e-3;
  if (!factor.device().is_cpu()) return "";
  const double times = factor.item<double>();
  if (!std::isfinite(times) || std::abs(times - 1) < rounding) return "";
  return ", times " + rounded_text(times) + " like the trained loss";
}

}  // namespace

void ProgramLosses::evaluated(const at::Tensor& result, const char* function, const void* place) {
  constexpr std::size_t most_early = 1000;
  if (!any()) {
    if (early_.size() < most_early) early_.push_back({result, function, place});
    return;
  }
  const auto role = roles_.find(function);
  if (role == roles_.end() || !role->second.is_loss) {
    const std::string name = std::string(function) + " (validation)";
    const auto [part, is_first] = names_of_parts_.try_emplace(function, name, std::vector<std::string>());
    const LossNames::Named named = part->second.of(place);
    if (named.is_new)
      tell_.guess("'" + named.name + "': the result of " + function +
                  " in eval mode or without gradients; it is not the trained loss");
    if (!named.name.empty()) values_.show_metric(named.name, result);
    return;
  }
  const LossNames::Named named = validation_names_.of(place);
  if (named.name.empty()) return;
  const at::NoGradGuard no_graph;
  const at::Tensor& factor = role->second.factor;
  const bool fits = factor.defined() && factor.device() == result.device();
  if (named.is_new) {
    tell_.guess("'" + named.name + "': the loss in eval mode or without gradients, mean of the batch" +
                (fits ? text_of_factor(factor) : ""));
  }
  values_.show_loss(named.name, fits ? result * factor : result, /*train=*/false);
}

}  // namespace loupe
