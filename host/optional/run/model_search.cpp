#include "run/model_search.h"

#include <loupe/detail/wanted_names.h>
#include <torch/nn/module.h>
#include "torch/tensor/compat.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "torch/model/module_types.h"

namespace loupe {
namespace {

constexpr std::size_t most_seen = 8192;

ParameterSet parameters_of(const torch::nn::Module& module) {
  ParameterSet set;
  for (const at::Tensor& parameter : module.parameters()) set.insert(parameter.unsafeGetTensorImpl());
  return set;
}

/// The module and all below it. `modules()` throws for a module that no shared_ptr owns.
std::vector<const torch::nn::Module*> modules_of(const torch::nn::Module& module) {
  std::vector<const torch::nn::Module*> all = {&module};
  for (const auto& below : module.modules(/*include_self=*/false)) all.push_back(below.get());
  return all;
}

/// Identifies a module without an owner, without visiting everything below it.
std::vector<const void*> parts_of(const torch::nn::Module& module) {
  std::vector<const void*> parts;
  for (const auto& child : module.children()) parts.push_back(child.get());
  for (const at::Tensor& each : module.parameters(/*recurse=*/false)) parts.push_back(each.unsafeGetTensorImpl());
  return parts;
}

bool is_of(const torch::nn::Module& module, const std::vector<std::string>& types) {
  if (types.empty()) return true;
  const std::string& full = module.name();
  const std::string type = short_type(full);
  return std::any_of(types.begin(), types.end(),
                     [&](const std::string& wanted) { return fits_glob(wanted, type) || fits_glob(wanted, full); });
}

std::size_t count_of(const ParameterSet& some, const ParameterSet& others) {
  return static_cast<std::size_t>(
      std::count_if(some.begin(), some.end(), [&](const auto* each) { return others.count(each) != 0; }));
}

/// Whether its own parameters are all frozen while it keeps buffers, as a batch norm does whose statistics still move.
bool is_frozen_with_state(const torch::nn::Module& module) {
  const auto own = module.parameters(/*recurse=*/false);
  return !own.empty() && !module.buffers(/*recurse=*/false).empty() &&
         std::none_of(own.begin(), own.end(), [](const at::Tensor& each) { return each.requires_grad(); });
}

/// Whether the rest of a module, beside a trained part, is frozen but may still change: none of it requires gradients
/// or is held by an optimizer, and it is no copy of the part, as a teacher or a target network is.
bool is_frozen_beside(const FoundModel& whole, const FoundModel& part, const ParameterSet& held_by_others) {
  if (whole.parameters.size() <= part.parameters.size() ||
      count_of(part.parameters, whole.parameters) != part.parameters.size())
    return false;
  std::multiset<std::vector<int64_t>> shapes;
  for (const auto* each : part.parameters) shapes.insert(each->sizes().vec());
  std::size_t like_part = 0;
  for (const auto* each : whole.parameters) {
    if (part.parameters.count(each) != 0) continue;
    if (each->requires_grad() || held_by_others.count(each) != 0) return false;
    const auto same = shapes.find(each->sizes().vec());
    if (same == shapes.end()) continue;
    shapes.erase(same);
    ++like_part;
  }
  if (like_part == part.parameters.size()) return false;
  const auto modules = modules_of(*whole.module);
  return std::any_of(modules.begin(), modules.end(), [](const auto* each) { return is_frozen_with_state(*each); });
}

}  // namespace

bool ModelSearch::see(torch::nn::Module& module) {
  const auto [place, is_new] = seen_.try_emplace(&module);
  SeenModule& seen = place->second;
  if (!is_new && seen.is_owned && !seen.owner.expired()) return false;
  SeenModule now;
  now.owner = module.weak_from_this();
  now.is_owned = !now.owner.expired();
  if (!now.is_owned) {
    now.parts = parts_of(module);
    if (!is_new && !seen.is_owned && seen.parts == now.parts && lives(seen)) return false;
    for (const at::Tensor& parameter : module.parameters()) now.parameters.emplace_back(parameter.getIntrusivePtr());
  }
  seen = std::move(now);
  if (seen_.size() > most_seen) forget_dead();
  return true;
}

/// A module without an owner counts as alive while something beside the optimizer holds each of its parameters.
bool ModelSearch::lives(const SeenModule& seen) {
  if (seen.is_owned) return !seen.owner.expired();
  return !seen.parameters.empty() && std::all_of(seen.parameters.begin(), seen.parameters.end(),
                                                 [](const auto& each) { return each.use_count() >= 2; });
}

void ModelSearch::forget_dead() {
  for (auto it = seen_.begin(); it != seen_.end();) it = lives(it->second) ? std::next(it) : seen_.erase(it);
  if (seen_.size() > most_seen) seen_.clear();
}

std::vector<FoundModel> ModelSearch::find(const ParameterSet& wanted, const ParameterSet& held_by_others,
                                          const std::vector<std::string>& types) const {
  std::vector<FoundModel> candidates;
  std::unordered_set<const torch::nn::Module*> known;
  const auto add = [&](torch::nn::Module* module, std::shared_ptr<torch::nn::Module> owner) {
    if (module == nullptr || !is_of(*module, types) || !known.insert(module).second) return;
    FoundModel model{module, std::move(owner), parameters_of(*module)};
    if (count_of(model.parameters, wanted) > 0) candidates.push_back(std::move(model));
  };
  for (const auto& [module, seen] : seen_) {
    if (!lives(seen)) continue;
    const auto owner = seen.owner.lock();
    add(module, owner);
    for (const auto& below : module->modules(/*include_self=*/false)) add(below.get(), below);
  }

  const auto covers = [&](const FoundModel& model) { return count_of(wanted, model.parameters) == wanted.size(); };
  const auto depth = [](const FoundModel& model) { return modules_of(*model.module).size(); };
  const FoundModel* best = nullptr;
  for (const FoundModel& each : candidates) {
    if (!covers(each)) continue;
    // If two modules have the same parameters, prefer the outer one.
    const bool is_nearer = best == nullptr || each.parameters.size() < best->parameters.size() ||
                           (each.parameters.size() == best->parameters.size() && depth(each) > depth(*best));
    if (is_nearer) best = &each;
  }
  if (best != nullptr) {
    const FoundModel* whole = best;
    for (const FoundModel& each : candidates) {
      const bool is_nearer = whole == best || each.parameters.size() < whole->parameters.size() ||
                             (each.parameters.size() == whole->parameters.size() && depth(each) > depth(*whole));
      if (is_nearer && is_frozen_beside(each, *best, held_by_others)) whole = &each;
    }
    return {*whole};
  }

  // If a layer of a model was replaced, the model also holds the new layer, which no optimizer trains.
  const auto holds = [&](const FoundModel& whole, const FoundModel& part) {
    return whole.parameters.size() > part.parameters.size() &&
           count_of(part.parameters, whole.parameters) == part.parameters.size() &&
           count_of(whole.parameters, held_by_others) == count_of(part.parameters, held_by_others);
  };
  std::vector<FoundModel> found;
  ParameterSet left = wanted;
  while (!left.empty()) {
    const FoundModel* next = nullptr;
    std::size_t most = 0;
    for (const FoundModel& each : candidates) {
      const std::size_t count = count_of(left, each.parameters);
      const bool is_better =
          next != nullptr && count == most &&
          (holds(each, *next) || (each.parameters.size() < next->parameters.size() && !holds(*next, each)) ||
           (each.parameters.size() == next->parameters.size() && depth(each) > depth(*next)));
      if (count == 0 || (count < most) || (count == most && !is_better)) continue;
      next = &each;
      most = count;
    }
    if (next == nullptr) break;
    for (const auto* parameter : next->parameters) left.erase(parameter);
    found.push_back(*next);
  }
  return found;
}

}  // namespace loupe
