#include "torch/newcomers.h"

#include <algorithm>

#include "core/log.h"

namespace loupe {
namespace {

constexpr std::size_t shown = 8;

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

void Newcomers::tell(const std::vector<std::shared_ptr<TapPoint>>& points, const std::string& model) {
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
