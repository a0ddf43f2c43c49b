#include "torch/model/layer_names.h"

#include <unordered_set>

#include "core/log.h"

namespace loupe {

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
                               "', so that their numbers cannot be told apart; attach under other names, or choose "
                               "another attach.separator");
    return;
  }
}

}  // namespace loupe
