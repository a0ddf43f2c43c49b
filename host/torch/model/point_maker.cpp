#include "torch/model/point_maker.h"

#include <loupe/draft/abi/loss_input.h>
#include <torch/nn.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "core/log.h"
#include "torch/tensor/tensor_view.h"

namespace loupe {
namespace {

struct ModelWalk {
  const int depth;
  std::unordered_map<const torch::nn::Module*, std::string> seen;
  std::vector<FoundModule> found;

  void visit(torch::nn::Module& module, const std::string& path, int level) {
    const auto [known, is_new] = seen.emplace(&module, path);
    if (!is_new) {
      found.push_back({&module, path, true, true, known->second});
      return;
    }
    const auto children = module.named_children();
    const bool leaf = children.is_empty() || level == depth;
    found.push_back({&module, path, leaf, false, ""});
    if (leaf) return;
    for (const auto& child : children) {
      if (child.value() == nullptr) continue;
      visit(*child.value(), path.empty() ? child.key() : path + "." + child.key(), level + 1);
    }
  }
};

}  // namespace

std::vector<FoundModule> walk_model(torch::nn::Module& model, int depth) {
  ModelWalk walk{depth, {}, {}};
  walk.visit(model, "", 0);
  return std::move(walk.found);
}

std::string LayerNames::of(const std::string& path) const {
  std::string shown;
  for (const char c : path) shown += c == '.' ? separator : std::string(1, c);
  if (model.empty()) return shown.empty() ? root_type : shown;
  return shown.empty() ? model : model + separator + shown;
}

void warn_of_equal_names(const Monitor& monitor) {
  std::unordered_set<std::string> names;
  for (const auto& module : monitor.modules()) {
    const std::string& name = module->description().name;
    if (module->closed() || names.insert(name).second) continue;
    log(LOUPE_LOG_WARNING, "two modules are shown as '" + name +
                               "', so their numbers cannot be told apart; attach under other names, or choose "
                               "another attach.separator");
    return;
  }
}

at::Tensor own_tensor(const torch::nn::Module& module, const std::string& name) {
  const auto parameters = module.named_parameters(/*recurse=*/false);
  if (const at::Tensor* found = parameters.find(name)) return *found;
  const auto buffers = module.named_buffers(/*recurse=*/false);
  const at::Tensor* found = buffers.find(name);
  return found != nullptr ? *found : at::Tensor();
}

namespace {

/// Returns a reader of the value that `label` names in a module: exposed, a parameter or a buffer; dotted labels lead
/// through children. Null if there is none. It keeps no parameter alive, and returns an undefined tensor without it.
std::function<at::Tensor()> attribute_reader(torch::nn::Module& module, const std::string& path,
                                             const std::string& label, const Exposed& exposed) {
  const auto shown = exposed.find({path, label});
  if (shown != exposed.end()) return shown->second;
  // A dotted label leads through children, any other names a tensor of the module itself.
  const auto dot = label.find('.');
  if (dot != std::string::npos) {
    const auto children = module.named_children();
    const auto* child = children.find(label.substr(0, dot));
    if (child == nullptr || *child == nullptr) return nullptr;
    const std::string child_path = path.empty() ? label.substr(0, dot) : path + "." + label.substr(0, dot);
    return attribute_reader(**child, child_path, label.substr(dot + 1), exposed);
  }
  const at::Tensor tensor = own_tensor(module, label);
  if (!tensor.defined()) return nullptr;
  return [weak = WeakTensor(tensor.getIntrusivePtr())] {
    auto alive = weak.lock();
    return alive ? at::Tensor(std::move(alive)) : at::Tensor();
  };
}

/// "3, eps=1e-05" of a module that prints itself as "torch::nn::BatchNorm1d(3, eps=1e-05)"; empty where it prints none.
std::string settings_of(const torch::nn::Module& module) {
  std::ostringstream printed;
  try {
    module.pretty_print(printed);
  } catch (const std::exception&) {
    return "";  // a module of the program may not be ready to be printed
  }
  const std::string text = printed.str();
  const auto begin = text.find('('), end = text.rfind(')');
  std::string settings = begin < end && end != std::string::npos ? text.substr(begin + 1, end - begin - 1) : "";
  // LibTorch does not print the settings in which two of these most often differ.
  const auto add = [&](const std::string& setting) { settings += (settings.empty() ? "" : ", ") + setting; };
  if (const auto* upsample = dynamic_cast<const torch::nn::UpsampleImpl*>(&module)) {
    add(std::string("align_corners=") + (upsample->options.align_corners().value_or(false) ? "true" : "false"));
  } else if (const auto* attention = dynamic_cast<const torch::nn::MultiheadAttentionImpl*>(&module)) {
    add("num_heads=" + std::to_string(attention->options.num_heads()));
  } else if (const auto* gelu = dynamic_cast<const torch::nn::GELUImpl*>(&module)) {
    add("approximate=" + gelu->options.approximate());
  }
  return settings;
}

/// The LOUPE_PARAMETER_ bits that depend only on the tensor.
uint32_t parameter_flags(const at::Tensor& tensor, bool is_buffer) {
  if (is_buffer) return LOUPE_PARAMETER_BUFFER;
  return tensor.requires_grad() ? uint32_t{LOUPE_PARAMETER_TRAINABLE} : 0U;
}

void add_parameters(const torch::nn::Module& module, TapPoint& point, ModuleDescription& description) {
  const auto add = [&](const std::string& name, const at::Tensor& tensor, bool is_buffer) {
    if (!tensor.defined()) return;
    ParameterTap tap;
    tap.name = name;
    tap.tensor = tensor;
    tap.is_buffer = is_buffer;
    point.parameters.push_back(std::move(tap));
    description.parameters.push_back({name, parameter_flags(tensor, is_buffer), tensor.sizes().vec(), tensor.numel()});
  };
  for (const auto& item : module.named_parameters(/*recurse=*/false)) add(item.key(), item.value(), false);
  for (const auto& item : module.named_buffers(/*recurse=*/false)) add(item.key(), item.value(), true);
}

void bind_result(ResultPoint& point) {
  point.forward = point.node->stream(LOUPE_TAP_FORWARD);
  if (point.forward != nullptr) point.forward->copy_state(&point.forward_state);
  point.output_gradient = point.node->stream(LOUPE_TAP_OUTPUT_GRADIENT);
  point.wants_tensors = point.forward != nullptr && point.forward->wants_tensors();
  for (Stream& stream : point.node->streams()) {
    if (stream.index() == 0) continue;
    point.further.push_back(&stream);
    point.wants_tensors = point.wants_tensors || (stream.tap() == LOUPE_TAP_FORWARD && stream.wants_tensors());
  }
  point.is_simple = point.output_gradient == nullptr && point.further.empty();
}

void bind_parameters(TapPoint& point) {
  const ModuleNode& node = *point.node;
  for (ParameterTap& tap : point.parameters) {
    tap.gradient = node.stream(LOUPE_TAP_PARAMETER_GRADIENT, tap.name);
    tap.step_gradient = node.stream(LOUPE_TAP_STEP_GRADIENT, tap.name);
    tap.step = node.stream(LOUPE_TAP_OPTIMIZER_STEP, tap.name);
    tap.tick = node.stream(LOUPE_TAP_TICK, tap.name);
    point.has_gradient_streams = point.has_gradient_streams || tap.gradient != nullptr;
  }
}

void bind_attributes(TapPoint& point, const FoundModule& found, const Exposed& exposed) {
  for (Stream& stream : point.node->streams()) {
    auto* attributes = stream.tap() == LOUPE_TAP_ATTRIBUTE          ? &point.attributes_after
                       : stream.tap() == LOUPE_TAP_ATTRIBUTE_BEFORE ? &point.attributes_before
                                                                    : nullptr;
    if (attributes == nullptr) continue;
    attributes->push_back({attribute_reader(*found.module, found.path, stream.label(), exposed), &stream});
  }
}

/// A parameter of a dead module, until the tick after its death, or of a module that nobody owns, for example on the
/// stack, which may be gone when a lens asks at the end of the program.
at::Tensor kept_parameter(const std::weak_ptr<TapPoint>& of, const std::string& name) {
  const auto point = of.lock();
  if (point == nullptr) return {};
  const std::lock_guard lock(point->lending);
  const auto found = std::find_if(point->parameters.begin(), point->parameters.end(),
                                  [&](const ParameterTap& each) { return each.name == name; });
  return found != point->parameters.end() ? found->tensor : at::Tensor();
}

decltype(ModuleDescription::lend) lender_of(const std::shared_ptr<TapPoint>& point) {
  return [owner = point->owner, kept = std::weak_ptr<TapPoint>(point)](const std::string& name, bool gradient,
                                                                       const ModuleDescription::Take& take) {
    const auto alive = owner.lock();
    const at::Tensor tensor = alive != nullptr ? own_tensor(*alive, name) : kept_parameter(kept, name);
    const at::Tensor lent = gradient && tensor.defined() ? tensor.grad() : tensor;
    if (!lent.defined()) return false;
    const TorchTensorView view(lent);
    if (view.readable()) take(*view.get());
    return view.readable();
  };
}

}  // namespace

std::shared_ptr<TapPoint> make_point(Monitor& monitor, const std::shared_ptr<ModelNode>& model,
                                     const ModuleNode* parent, const FoundModule& found, const Visibility& visibility,
                                     const LayerNames& names, const Exposed& exposed, bool is_loss) {
  auto point = std::make_shared<TapPoint>();
  point->module = found.module;
  point->owner = found.module->weak_from_this();
  point->has_owner = !point->owner.expired();

  ModuleDescription description;
  add_parameters(*found.module, *point, description);
  description.path = found.path;
  description.name = names.of(found.path);
  description.full_type = found.module->name();
  description.type = short_type(description.full_type);
  description.settings = settings_of(*found.module);
  description.family = is_loss ? static_cast<uint32_t>(LOUPE_FAMILY_LOSS) : family_of(description.type);
  if (found.path.empty()) description.flags |= LOUPE_MODULE_ROOT;
  if (found.is_leaf) description.flags |= LOUPE_MODULE_LEAF;
  if (visibility.tapped) description.flags |= LOUPE_MODULE_TAPPED;
  if (is_loss) description.flags |= LOUPE_MODULE_LOSS;
  // Lenses may request values while the node lives, which is longer than the model.
  description.offers = [parameters = description.parameters, owner = point->owner, has_owner = point->has_owner, found,
                        &exposed](uint32_t tap, const std::string& label) {
    const bool is_attribute = tap == LOUPE_TAP_ATTRIBUTE || tap == LOUPE_TAP_ATTRIBUTE_BEFORE;
    for (const ParameterDescription& each : parameters) {
      if (each.name == label)
        return is_attribute || tap == LOUPE_TAP_TICK || (each.flags & LOUPE_PARAMETER_BUFFER) == 0;
    }
    const auto alive = owner.lock();
    if (has_owner && alive == nullptr) return false;
    return is_attribute && attribute_reader(*found.module, found.path, label, exposed) != nullptr;
  };

  description.lend = lender_of(point);
  point->node = monitor.take_module(std::move(description), model, parent);
  return point;
}

void bind_point(TapPoint& point, const FoundModule& found, const Exposed& exposed) {
  bind_result(point);
  point.loss_input = point.node->stream(LOUPE_DRAFT_TAP_LOSS_INPUT);
  point.before = point.node->stream(LOUPE_TAP_FORWARD_BEFORE);
  point.input_gradient = point.node->stream(LOUPE_TAP_INPUT_GRADIENT);
  bind_parameters(point);
  bind_attributes(point, found, exposed);
  point.is_simple = point.is_simple && point.before == nullptr && point.input_gradient == nullptr &&
                    point.attributes_before.empty() && point.attributes_after.empty();
}

std::shared_ptr<FunctionPoint> make_function_point(Monitor& monitor, const std::shared_ptr<ModelNode>& model,
                                                   const TapPoint& after, const FunctionKind& kind,
                                                   std::size_t occurrence) {
  const ModuleDescription& module = after.node->description();
  const std::string suffix =
      std::string(":") + kind.name + (occurrence == 0 ? "" : "#" + std::to_string(occurrence + 1));
  ModuleDescription description;
  description.name = module.name + suffix;
  description.path = module.path + suffix;
  description.type = kind.name;
  description.full_type = std::string("torch::") + kind.name;
  description.family = kind.family;
  description.flags = LOUPE_MODULE_LEAF | LOUPE_MODULE_FUNCTIONAL | LOUPE_MODULE_TAPPED;
  description.offers = [](uint32_t, const std::string&) { return false; };

  auto point = std::make_shared<FunctionPoint>();
  point->active = after.active;
  point->redirects = after.redirects;
  point->node = monitor.add_module(std::move(description), model, after.node.get());
  bind_result(*point);
  return point;
}

}  // namespace loupe
