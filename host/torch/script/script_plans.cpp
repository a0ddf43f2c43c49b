#include "torch/script/script_plans.h"

#include <loupe/abi.h>

#include <exception>
#include <iterator>
#include <unordered_map>

#include "core/forks.h"
#include "core/log.h"

namespace loupe {
namespace {

/// The plans of one model, by the module and method that a trainer called.
struct Plans {
  std::weak_ptr<ScriptModel> model;
  std::unordered_map<const ScriptLayer*, std::unordered_map<std::string, std::shared_ptr<Planned>>> methods;
};
struct AllPlans {
  ProcessMutex mutex;
  std::unordered_map<const ScriptModel*, Plans> by_model;
};
AllPlans& all_plans() {
  static auto* plans = new AllPlans();
  return *plans;
}

}  // namespace

std::shared_ptr<Planned> plan_of(const std::shared_ptr<ScriptModel>& model, ScriptLayer& layer,
                                 const std::string& method) {
  AllPlans& all = all_plans();
  const std::lock_guard lock(all.mutex);
  for (auto it = all.by_model.begin(); it != all.by_model.end();)
    it = it->second.model.expired() ? all.by_model.erase(it) : std::next(it);
  Plans& plans = all.by_model[model.get()];
  plans.model = model;
  auto& plan = plans.methods[&layer][method];
  if (plan != nullptr) return plan;
  try {
    plan = std::make_shared<Planned>(*model, layer, method);
  } catch (const std::exception& e) {
    plan = std::make_shared<Planned>();
    log(LOUPE_LOG_WARNING, "the TorchScript of '" + method + "' of a " + short_type(layer.name()) +
                               " cannot be read, so that nothing that it computes is seen: " + e.what());
  }
  return plan;
}

}  // namespace loupe
