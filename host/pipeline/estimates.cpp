#include "pipeline/estimates.h"

#include "measure/sample.h"

namespace loupe {

std::string estimate_words(const std::vector<std::shared_ptr<ModuleNode>>& modules) {
  constexpr std::size_t most_named = 5;
  std::size_t parameters = 0, estimated = 0;
  std::string names;
  for (const auto& module : modules) {
    const ModuleDescription& description = module->description();
    for (const ParameterDescription& parameter : description.parameters) {
      if ((parameter.flags & LOUPE_PARAMETER_BUFFER) != 0) continue;
      ++parameters;
      if (measure::Sample(parameter.numel, module->history()).is_whole() || ++estimated > most_named) continue;
      names += (names.empty() ? "" : ", ") + description.name + "." + parameter.name;
    }
  }
  if (estimated == 0) return "";
  if (estimated > most_named) names += " and " + std::to_string(estimated - most_named) + " more";
  return "attach.history: what compares a step with earlier ones (correlations, norms of updates) is "
         "estimated from at most " +
         std::to_string(modules.front()->history()) + " elements of each of " + std::to_string(estimated) + " of " +
         std::to_string(parameters) + " parameters: " + names + "; all else is exact";
}

}  // namespace loupe
