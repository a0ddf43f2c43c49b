#include "torch/model/coverage.h"

#include <torch/nn.h>
#include <torch/nn/module.h>

#include <algorithm>

#include "core/log.h"
#include "torch/model/registry.h"

namespace loupe {
namespace {

constexpr std::size_t shown_untapped = 5;

}  // namespace

std::string parent_of(const std::string& path) {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

void Coverage::add(const std::string& name, const std::string& type, const Visibility& visibility, bool looked_into,
                   bool has_parameters) {
  const std::string shown = name + "  " + type;
  if (visibility.tapped) {
    ++tapped_;
    perhaps_ += visibility.perhaps ? 1 : 0;
    lines_.push_back(shown +
                     (visibility.perhaps ? "  perhaps tapped: its own forward may hide LibTorch's" : "  tapped"));
  } else if (visibility.container && looked_into) {
    ++containers_;
    lines_.push_back(shown + "  a container, looked into");
  } else if (!has_parameters) {
    lines_.push_back(shown + "  not tapped, and without parameters: " + visibility.reason);
  } else if (visibility.has_no_forward) {
    lines_.push_back(shown + "  parameters without a forward");
  } else {
    untapped_.push_back(name + " (" + type + "): " + visibility.reason);
    lines_.push_back(shown + "  not tapped: " + visibility.reason);
  }
}

void Coverage::add_again(const std::string& name, const std::string& type, const std::string& first_name) {
  lines_.push_back(name + "  " + type + "  the same module as " + first_name);
}

std::string Coverage::share() const {
  if (tapped_ + untapped_.size() + containers_ == 0) return "only its parameters are watched";
  return std::to_string(tapped_) + " of " + std::to_string(tapped_ + untapped_.size()) + " modules tapped";
}

std::string Coverage::counts() const {
  std::string text = share();
  if (perhaps_ > 0) text += " (" + std::to_string(perhaps_) + " not certain until the first tick)";
  if (containers_ > 0) text += ", containers looked into: " + std::to_string(containers_);
  return text;
}

std::string Coverage::untapped() const {
  std::string text;
  for (std::size_t i = 0; i < untapped_.size() && i < shown_untapped; ++i) text += "; not tapped: " + untapped_[i];
  if (untapped_.size() > shown_untapped) {
    text +=
        "; and " + std::to_string(untapped_.size() - shown_untapped) + " more (attach: {list_modules: true} lists all)";
  }
  return text;
}

namespace {

constexpr std::size_t shown = 8;

struct WhatRan {
  std::unordered_set<std::string> paths;   // paths of modules that ran, or hold one that ran
  std::unordered_set<std::string> opaque;  // paths of LibTorch's leaves, which may use a child without running it
  bool training = false;
};

WhatRan what_ran(const std::vector<std::shared_ptr<TapPoint>>& points) {
  WhatRan run;
  for (const auto& point : points) {
    const std::string& path = point->node->description().path;
    if (point->opaque) run.opaque.insert(path);
    const uint8_t ran = point->ran.load(std::memory_order_relaxed);
    run.training = run.training || (ran & ran_in_training) != 0;
    if (ran == 0) continue;
    for (std::string each = path; run.paths.insert(each).second && !each.empty();) each = parent_of(each);
  }
  return run;
}

/// Why a tapped module was not seen; empty if it was seen, or did not have to be.
std::string reason(const TapPoint& point, const WhatRan& run) {
  const ModuleDescription& module = point.node->description();
  const bool tapped = (module.flags & LOUPE_MODULE_TAPPED) != 0;
  if (!tapped || point.ran.load(std::memory_order_relaxed) != 0 || !point.alive()) return "";
  const bool went_past = run.paths.count(module.path) != 0;  // its children ran
  const bool around_it_ran = !module.path.empty() && run.paths.count(parent_of(module.path)) != 0;
  if (!went_past && !around_it_ran) return "";
  if (!went_past && run.opaque.count(parent_of(module.path)) != 0) return "";
  if (module.full_type.find("loupe::Tapped<") != std::string::npos)
    return "its loupe::Tapped was bypassed, or it was not called; call forward through that type";
  if (point.perhaps)
    return is_only_watched() ? "not called, or it has its own forward"
                             : "not called, or it has its own forward; use loupe::Tapped<" + module.full_type + ">";
  // A program may skip its dropouts in an evaluation.
  return module.family == LOUPE_FAMILY_DROPOUT && !run.training ? "" : "not called";
}

/// "encoder.0" of the module's children, in the model's own words.
std::string name_of(const TapPoint& parent, const torch::nn::Module& holder, const torch::nn::Module* child) {
  std::string key;
  for (const auto& each : holder.named_children()) {
    if (each.value().get() == child) key = each.key();
  }
  const std::string& path = parent.node->description().path;
  return path.empty() ? key : path + "." + key;
}

}  // namespace

bool tell_of_unseen(const std::vector<std::shared_ptr<TapPoint>>& points, const std::string& model) {
  const WhatRan run = what_ran(points);
  if (run.paths.empty()) return false;
  std::string text;
  std::size_t count = 0;
  for (const auto& point : points) {
    const std::string why = reason(*point, run);
    if (why.empty() || ++count > shown) continue;
    const ModuleDescription& module = point->node->description();
    text += (text.empty() ? "" : "; ") + module.name + " (" + module.type + "): " + why;
  }
  if (count > shown) text += "; and " + std::to_string(count - shown) + " more";
  if (count > 0)
    log(LOUPE_LOG_WARNING, "up to the first tick, modules of '" + model +
                               "' that are tapped were not seen although others around them ran: " + text);
  return true;
}

void LateModules::tell(const std::vector<std::shared_ptr<TapPoint>>& points, const std::string& model) {
  std::shared_ptr<const Registry::Table> watched;  // also those that are attached as models of their own
  uint64_t generation = 0;
  Registry::instance().refresh(watched, generation);
  std::string text;
  std::size_t count = 0;
  for (const auto& point : points) {
    const auto holder = point->owner.lock();
    if (holder == nullptr || (point->node->description().flags & LOUPE_MODULE_LEAF) != 0) continue;
    for (const auto& child : holder->children()) {
      const ModuleEntry* seen = watched->find(child.get());
      if ((seen != nullptr && seen->points[0]->alive()) || !told_.insert(child.get()).second || ++count > shown)
        continue;
      text += (text.empty() ? "'" : ", '") + name_of(*point, *holder, child.get()) + "' (" + child->name() + ")";
    }
  }
  if (count == 0) return;
  if (count > shown) text += " and " + std::to_string(count - shown) + " more";
  log(LOUPE_LOG_WARNING, "modules were added to '" + model + "' while it was watched, and are not watched: " + text +
                             "; add them earlier, or, with an inspector, detach the model and attach it again");
}

bool holds_by_now(const std::vector<std::shared_ptr<TapPoint>>& points, const torch::nn::Module& module) {
  const auto root = points.empty() ? nullptr : points[0]->owner.lock();
  if (root == nullptr) return false;
  const auto modules = root->modules(/*include_self=*/false);
  return std::any_of(modules.begin(), modules.end(), [&](const auto& each) { return each.get() == &module; });
}

namespace {

template <class... Types>
const at::Tensor* member_of_any(const torch::nn::Module& module, const std::string& name) {
  const at::Tensor* found = nullptr;
  const auto is = [&](const auto* known) {
    if (known == nullptr) return false;
    if (name == "weight") found = &known->weight;
    if constexpr (requires { known->bias; }) {
      if (name == "bias") found = &known->bias;
    }
    return true;
  };
  static_cast<void>((is(dynamic_cast<const Types*>(&module)) || ...));
  return found;
}

/// The tensor that the module's forward uses under that name; null if unknown.
const at::Tensor* used_by(const torch::nn::Module& module, const std::string& name) {
  using namespace torch::nn;
  return member_of_any<LinearImpl, EmbeddingImpl, EmbeddingBagImpl, Conv1dImpl, Conv2dImpl, Conv3dImpl,
                       ConvTranspose1dImpl, ConvTranspose2dImpl, ConvTranspose3dImpl, LayerNormImpl>(module, name);
}

/// "'weight' of 'wte'"; empty if no module has registered the tensor.
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
                        ": the registered one gets no gradient, but is still saved and loaded";
      finding.advice =
          "share the computation, not the tensor: call torch::nn::functional::linear(x, embedding->weight) in the "
          "forward, "
          "or leave the module's own parameter out of the model";
    }
  }
  return findings;
}

}  // namespace loupe
