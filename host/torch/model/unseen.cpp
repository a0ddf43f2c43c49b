#include "torch/model/unseen.h"

#include <torch/nn/module.h>
#include <algorithm>

#include "core/log.h"
#include "torch/model/program_hooks.h"

namespace loupe {
namespace {

constexpr std::size_t shown = 8;

/// "a" for "a.b"; "" for "a".
std::string parent_of(const std::string& path) {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

struct WhatRan {
  std::unordered_set<std::string> paths;   // of modules that ran, or hold one that ran
  std::unordered_set<std::string> opaque;  // of leaves of LibTorch's, which may use a child without running it
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

/// Why a module that is called tapped was not seen; empty where there is nothing to say.
std::string reason(const TapPoint& point, const WhatRan& run) {
  const ModuleDescription& module = point.node->description();
  const bool tapped = (module.flags & LOUPE_MODULE_TAPPED) != 0;
  if (!tapped || point.ran.load(std::memory_order_relaxed) != 0 || !point.alive()) return "";
  const bool went_past = run.paths.count(module.path) != 0;  // its children ran
  const bool around_it_ran = !module.path.empty() && run.paths.count(parent_of(module.path)) != 0;
  if (!went_past && !around_it_ran) return "";
  if (!went_past && run.opaque.count(parent_of(module.path)) != 0) return "";
  if (module.full_type.find("loupe::Tapped<") != std::string::npos)
    return "called past its loupe::Tapped, or not at all; call forward through that type";
  if (point.perhaps)
    return program_hooks.load(std::memory_order_relaxed) != nullptr
               ? "not called, or its forward is its own"
               : "not called, or its forward is its own; name its type loupe::Tapped<" + module.full_type + ">";
  // A program may leave out its dropouts while it evaluates.
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
                               "' that are tapped were not seen though others around them ran: " + text);
  return true;
}

void LateModules::tell(const std::vector<std::shared_ptr<TapPoint>>& points, const std::string& model) {
  std::unordered_set<const torch::nn::Module*> known;
  for (const auto& point : points) {
    if (point->alive()) known.insert(point->module);
  }
  std::string text;
  std::size_t count = 0;
  for (const auto& point : points) {
    const auto holder = point->owner.lock();
    if (holder == nullptr || (point->node->description().flags & LOUPE_MODULE_LEAF) != 0) continue;
    for (const auto& child : holder->children()) {
      if (known.count(child.get()) != 0 || !told_.insert(child.get()).second || ++count > shown) continue;
      text += (text.empty() ? "'" : ", '") + name_of(*point, *holder, child.get()) + "' (" + child->name() + ")";
    }
  }
  if (count == 0) return;
  if (count > shown) text += " and " + std::to_string(count - shown) + " more";
  log(LOUPE_LOG_WARNING, "modules came into '" + model + "' after it was attached, and nothing looks at them: " + text +
                             "; detach the model and attach it again");
}

bool holds_by_now(const std::vector<std::shared_ptr<TapPoint>>& points, const torch::nn::Module& module) {
  const auto root = points.empty() ? nullptr : points[0]->owner.lock();
  if (root == nullptr) return false;
  const auto modules = root->modules(/*include_self=*/false);
  return std::any_of(modules.begin(), modules.end(), [&](const auto& each) { return each.get() == &module; });
}

}  // namespace loupe
