#include "torch/attachment.h"

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "core/log.h"
#include "torch/gradient_taps.h"
#include "torch/listening.h"
#include "torch/module_types.h"
#include "torch/norm_taps.h"
#include "torch/optimizer_taps.h"
#include "torch/redirections.h"
#include "torch/tensor_view.h"

namespace loupe {
namespace {

constexpr std::size_t shown_untapped = 5;
using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

void dispatch_tensor(Stream* stream, const at::Tensor& tensor, uint32_t flags) {
  if (stream == nullptr || !tensor.defined()) return;
  const TorchTensorView view(tensor);
  if (view.readable()) stream->dispatch(view.get(), flags);
}

constexpr uint32_t training_flags = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;

}  // namespace

struct Attachment::Walk {
  const Exposed& exposed;
  bool is_loss;
  std::unordered_map<const torch::nn::Module*, std::string> seen;
  std::vector<bool> opaque;
  nlohmann::json modules = nlohmann::json::array();
  int64_t parameters = 0;
};

Attachment::Attachment(Monitor& monitor, std::recursive_mutex& mutex, std::string name)
    : monitor_(monitor), mutex_(mutex), name_(std::move(name)) {}

Attachment::~Attachment() {
  detach();
}

std::string Attachment::full_name(const std::string& path) const {
  const std::string& separator = monitor_.config().separator;
  std::string shown;
  for (const char c : path) shown += c == '.' ? separator : std::string(1, c);
  if (name_.empty()) return shown.empty() ? root_type_ : shown;
  return shown.empty() ? name_ : name_ + separator + shown;
}

void Attachment::attach(torch::nn::Module& model, torch::optim::Optimizer* optimizer, const Exposed& exposed,
                        bool is_loss) {
  declare_all_taps();
  const bool redirect = monitor_.config().redirect;
  if (redirect) Redirections::instance().hold();
  holds_redirections_ = redirect;
  attached_ = true;
  root_type_ = short_type(model.name());

  Walk walk{exposed, is_loss, {}, {}, nlohmann::json::array(), 0};
  visit(model, "", 0, walk);
  description_ = nlohmann::json({{"name", name_.empty() ? root_type_ : name_},
                                 {"type", model.name()},
                                 {"parameters", walk.parameters},
                                 {"modules", walk.modules}})
                     .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);  // names may be any bytes
  if (optimizer != nullptr) {
    has_optimizer_ = true;
    mark_optimizer_parameters(*optimizer);
    if (redirect) tap_optimizer(*optimizer, shared_from_this());
    for (const auto& point : points_) point->checks_steps = may_step_unseen(*optimizer) || !redirect;
  }
  warn_of_equal_names();
  prime();
  Registry::instance().add(points_, walk.opaque);
  set_active(monitor_.active());
}

void Attachment::warn_of_equal_names() const {
  std::unordered_set<std::string> names;
  for (const auto& module : monitor_.modules()) {
    const std::string& name = module->description().name;
    if (module->closed() || names.insert(name).second) continue;
    log(LOUPE_LOG_WARNING, "two modules are shown as '" + name +
                               "', so that their numbers cannot be told apart; attach under other names, or choose "
                               "another attach.separator");
    return;
  }
}

void Attachment::visit(torch::nn::Module& module, const std::string& path, int depth, Walk& walk) {
  const auto [known, is_new] = walk.seen.emplace(&module, path);
  if (!is_new) {
    coverage_.push_back(full_name(path) + "  " + short_type(module.name()) + "  the same module as " +
                        full_name(known->second));
    return;
  }
  const auto children = module.named_children();
  const bool leaf = children.is_empty() || depth == monitor_.config().depth;
  add_point(module, path, leaf, walk);
  if (leaf) return;
  for (const auto& child : children) {
    if (child.value() == nullptr) continue;
    visit(*child.value(), path.empty() ? child.key() : path + "." + child.key(), depth + 1, walk);
  }
}

void Attachment::add_point(torch::nn::Module& module, const std::string& path, bool leaf, Walk& walk) {
  const bool redirect = monitor_.config().redirect;
  const Reach reach = reach_of(module, redirect);
  if (redirect && is_tappable_norm(module)) tap_norm(module);

  auto point = std::make_shared<TapPoint>();
  ModuleDescription description;
  int64_t parameters = 0;
  const auto add_parameter = [&](const std::string& name, const at::Tensor& tensor, bool is_buffer) {
    if (!tensor.defined()) return;
    ParameterTap tap;
    tap.name = name;
    tap.tensor = tensor;
    tap.is_buffer = is_buffer;
    point->parameters.push_back(std::move(tap));
    description.parameters.push_back({name, is_buffer, tensor.dim(), tensor.numel()});
    if (!is_buffer) parameters += tensor.numel();
  };
  for (const auto& item : module.named_parameters(/*recurse=*/false)) add_parameter(item.key(), item.value(), false);
  for (const auto& item : module.named_buffers(/*recurse=*/false)) add_parameter(item.key(), item.value(), true);
  walk.parameters += parameters;

  description.path = path;
  description.name = full_name(path);
  description.model = name_;
  description.full_type = module.name();
  description.type = short_type(module.name());
  description.family = walk.is_loss ? static_cast<uint32_t>(LOUPE_FAMILY_LOSS) : family_of(description.type);
  if (path.empty()) description.flags |= LOUPE_MODULE_ROOT;
  if (leaf) description.flags |= LOUPE_MODULE_LEAF;
  if (reach.tapped) description.flags |= LOUPE_MODULE_TAPPED;
  if (walk.is_loss) description.flags |= LOUPE_MODULE_LOSS;
  description.offers = [this, point = point.get(), &module, path, &exposed = walk.exposed](uint32_t tap,
                                                                                           const std::string& label) {
    const bool at_forward = tap == LOUPE_TAP_FORWARD || tap == LOUPE_TAP_FORWARD_BEFORE;
    for (const ParameterTap& each : point->parameters) {
      if (each.name == label) return at_forward || tap == LOUPE_TAP_TICK || !each.is_buffer;
    }
    return at_forward && reader(module, path, label, exposed) != nullptr;
  };
  walk.modules.push_back(
      {{"name", description.name}, {"type", description.type}, {"parameters", parameters}, {"leaf", leaf}});

  point->attachment_id = this;
  point->attachment = weak_from_this();
  point->active = active_;
  point->module = &module;
  point->owner = module.weak_from_this();
  point->has_owner = !point->owner.expired();
  const std::string shown = description.name + "  " + description.type;
  point->node = monitor_.add_module(std::move(description));
  bind_streams(*point, walk.exposed);
  for (const Stream& stream : point->node->streams()) {
    const bool labelled = !stream.label().empty();
    if (labelled && stream.tap() == LOUPE_TAP_FORWARD)
      point->attributes_after.push_back(
          {reader(module, path, stream.label(), walk.exposed), const_cast<Stream*>(&stream)});
    if (labelled && stream.tap() == LOUPE_TAP_FORWARD_BEFORE)
      point->attributes_before.push_back(
          {reader(module, path, stream.label(), walk.exposed), const_cast<Stream*>(&stream)});
  }
  points_.push_back(point);
  walk.opaque.push_back(reach.opaque);

  if (reach.tapped) {
    ++tapped_;
    coverage_.push_back(shown + "  tapped");
  } else if (reach.container && !leaf) {
    ++containers_;
    coverage_.push_back(shown + "  a container, looked into");
  } else {
    untapped_.push_back(full_name(path) + " (" + short_type(module.name()) + "): " + reach.reason);
    coverage_.push_back(shown + "  not tapped: " + reach.reason);
  }
}

std::function<at::Tensor()> Attachment::reader(torch::nn::Module& module, const std::string& path,
                                               const std::string& label, const Exposed& exposed) const {
  const auto shown = exposed.find({path, label});
  if (shown != exposed.end()) return shown->second;
  // A dotted label leads through children; what is in a module's own lists is found by itself.
  const auto dot = label.find('.');
  if (dot != std::string::npos) {
    const auto children = module.named_children();
    const auto* child = children.find(label.substr(0, dot));
    if (child == nullptr || *child == nullptr) return nullptr;
    const std::string child_path = path.empty() ? label.substr(0, dot) : path + "." + label.substr(0, dot);
    return reader(**child, child_path, label.substr(dot + 1), exposed);
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

void Attachment::bind_streams(TapPoint& point, const Exposed&) {
  ModuleNode& node = *point.node;
  point.before = node.stream(LOUPE_TAP_FORWARD_BEFORE);
  point.forward = node.stream(LOUPE_TAP_FORWARD);
  point.output_gradient = node.stream(LOUPE_TAP_OUTPUT_GRADIENT);
  point.input_gradient = node.stream(LOUPE_TAP_INPUT_GRADIENT);
  point.wants_tensors = point.forward != nullptr && point.forward->wants_tensors();
  for (ParameterTap& tap : point.parameters) {
    tap.gradient = node.stream(LOUPE_TAP_PARAMETER_GRADIENT, tap.name);
    tap.step_gradient = node.stream(LOUPE_TAP_STEP_GRADIENT, tap.name);
    tap.step = node.stream(LOUPE_TAP_OPTIMIZER_STEP, tap.name);
    tap.tick = node.stream(LOUPE_TAP_TICK, tap.name);
    point.has_gradient_streams = point.has_gradient_streams || tap.gradient != nullptr;
  }
}

std::shared_ptr<TapPoint> Attachment::add_function(TapPoint& after, const FunctionKind& kind, std::size_t occurrence) {
  const std::lock_guard lock(mutex_);
  if (!attached_ || after.node->closed()) return nullptr;
  const ModuleDescription& module = after.node->description();
  const std::string suffix =
      std::string(":") + kind.name + (occurrence == 0 ? "" : "#" + std::to_string(occurrence + 1));
  ModuleDescription description;
  description.name = module.name + suffix;
  description.path = module.path + suffix;
  description.model = name_;
  description.type = kind.name;
  description.full_type = std::string("torch::") + kind.name;
  description.family = kind.family;
  description.flags = LOUPE_MODULE_LEAF | LOUPE_MODULE_FUNCTIONAL | LOUPE_MODULE_TAPPED;
  description.offers = [](uint32_t, const std::string&) { return false; };

  auto point = std::make_shared<TapPoint>();
  point->attachment_id = this;
  point->attachment = weak_from_this();
  point->active = active_;
  point->node = monitor_.add_module(std::move(description));
  bind_streams(*point, {});
  function_points_.push_back(point);
  return point;
}

void Attachment::mark_optimizer_parameters(torch::optim::Optimizer& optimizer) {
  std::unordered_set<const c10::TensorImpl*> owned;
  first_optimizer_parameter_ = first_parameter(optimizer);
  optimizer_parameters_ = 0;
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      owned.insert(parameter.unsafeGetTensorImpl());
    }
    optimizer_parameters_ += group.params().size();
  }
  bool any = false;
  for (const auto& point : points_) {
    for (ParameterTap& tap : point->parameters) {
      tap.in_optimizer = owned.count(tap.tensor.unsafeGetTensorImpl()) != 0;
      any = any || tap.in_optimizer;
    }
  }
  if (!any)
    log(LOUPE_LOG_WARNING, "the optimizer attached with '" + full_name("") +
                               "' holds none of its parameters; its steps change nothing here");
}

void Attachment::before_step(torch::optim::Optimizer& optimizer) {
  const std::lock_guard lock(mutex_);
  if (!active_->load(std::memory_order_relaxed)) return;
  std::size_t count = 0;
  for (const auto& group : optimizer.param_groups()) count += group.params().size();
  const c10::TensorImpl* first = first_parameter(optimizer);
  if (count != optimizer_parameters_ || first != first_optimizer_parameter_) mark_optimizer_parameters(optimizer);
  for (const auto& point : points_) {
    for (const ParameterTap& tap : point->parameters) {
      if (tap.step_gradient != nullptr && tap.in_optimizer && tap.tensor.requires_grad())
        dispatch_tensor(tap.step_gradient, tap.tensor.grad(), training_flags);
    }
  }
}

void Attachment::after_step() {
  const std::lock_guard lock(mutex_);
  step_seen_ = true;
  if (active_->load(std::memory_order_relaxed)) {
    for (const auto& point : points_) {
      for (ParameterTap& tap : point->parameters) {
        if (tap.is_buffer || (has_optimizer_ && !tap.in_optimizer) || !tap.tensor.requires_grad()) continue;
        tap.version = tap.tensor._version();
        dispatch_tensor(tap.step, tap.tensor, training_flags);
      }
    }
  }
  monitor_.note_step();
}

void Attachment::notice_unseen_step() {
  const std::lock_guard lock(mutex_);
  const bool seen = std::exchange(step_seen_, false);
  bool changed = false;
  for (const auto& point : points_) {
    for (ParameterTap& tap : point->parameters) {
      if (!tap.in_optimizer) continue;
      const uint32_t version = tap.tensor._version();
      changed = changed || (version != tap.version && tap.tensor.grad().defined());
      tap.version = version;
    }
  }
  if (changed && !seen) {
    after_step();
    step_seen_ = false;
  }
}

void Attachment::prime() {
  for (const auto& point : points_) {
    for (ParameterTap& tap : point->parameters) {
      if (!tap.is_buffer) tap.version = tap.tensor._version();
      if (tap.step == nullptr) continue;
      const TorchTensorView view(tap.tensor);
      if (view.readable()) tap.step->prime(*view.get());
    }
  }
}

/// While inactive there are no hooks either: autograd would pay for calling them.
void Attachment::set_active(bool active) {
  if (active_->exchange(active) == active) return;
  active_attachments.fetch_add(active ? 1 : -1);
  for (const auto& point : points_) {
    if (active) {
      keep_hooks(*point);
    } else {
      remove_hooks(*point);
    }
  }
}

void Attachment::tick() {
  for (const auto& point : points_) {
    if (!point->alive()) {
      if (point->parameters.empty()) continue;
      remove_hooks(*point);
      {
        const std::lock_guard lock(point->node->mutex());
        point->parameters.clear();
      }
      monitor_.remove_module(point->node);
      continue;
    }
    if (const auto module = point->owner.lock()) {
      const auto current = module->named_parameters(/*recurse=*/false);
      for (ParameterTap& tap : point->parameters) {
        const at::Tensor* now = tap.is_buffer ? nullptr : current.find(tap.name);
        if (now == nullptr || now->unsafeGetTensorImpl() == tap.tensor.unsafeGetTensorImpl()) continue;
        {
          const std::lock_guard lock(point->node->mutex());
          tap.tensor = *now;
          tap.hooked_keys = {};
        }
        keep_hooks(*point);
      }
    }
    for (const ParameterTap& tap : point->parameters) dispatch_tensor(tap.tick, tap.tensor, training_flags);
  }
}

void Attachment::detach() {
  if (!std::exchange(attached_, false)) return;
  set_active(false);
  Registry::instance().remove(this);
  forget_optimizer(this);
  for (const auto& point : points_) {
    remove_hooks(*point);
    monitor_.remove_module(point->node);
    // Threads that ran the model know the point until they run another; the parameters need not wait for that.
    const std::lock_guard lock(point->node->mutex());
    point->parameters.clear();
  }
  for (const auto& point : function_points_) monitor_.remove_module(point->node);
  if (holds_redirections_) Redirections::instance().release();
}

std::string Attachment::summary() const {
  std::string text = "attached '" + full_name("") + "': " + std::to_string(tapped_) + " of " +
                     std::to_string(points_.size() - containers_) + " modules tapped";
  if (containers_ > 0) text += ", " + std::to_string(containers_) + " containers looked into";
  if (!has_optimizer_) text += ", no optimizer";
  if (has_optimizer_ && !holds_redirections_)
    text += "; with taps: explicit call inspector.optimizer_stepped() after each step";
  for (std::size_t i = 0; i < untapped_.size() && i < shown_untapped; ++i) text += "; not tapped: " + untapped_[i];
  if (untapped_.size() > shown_untapped) {
    text +=
        "; and " + std::to_string(untapped_.size() - shown_untapped) + " more (attach: {list_modules: true} lists all)";
  }
  return text;
}

}  // namespace loupe
