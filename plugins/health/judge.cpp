#include "health/judge.h"

#include <loupe/number_text.h>

#include <cmath>

namespace loupe::health {

std::string shown(const ParameterState& state) {
  return "'" + state.name + "' of '" + state.layer + "'";
}

std::string whose(const Model& model) {
  return model.name.empty() ? "the model" : "'" + model.name + "'";
}

bool has_rate(const loupe_optimizer* optimizer) {
  if (optimizer == nullptr) return true;
  for (std::size_t i = 0; i < optimizer->group_count; ++i) {
    if (optimizer->groups[i]->learning_rate != 0) return true;  // NaN too: not known
  }
  return false;
}

std::string number(double value) {
  return rounded_text(value);
}

std::string percent(double share) {
  return std::to_string(std::lround(100 * share)) + " %";
}

}  // namespace loupe::health
