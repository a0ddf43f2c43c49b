#pragma once

#include <loupe/abi.h>

#include <optional>
#include <string_view>

namespace loupe {
inline namespace v1_0 {

// The settings of a group of an optimizer's parameters. Nullopt if the optimizer does not report them.

inline std::optional<double> learning_rate_of(const loupe_parameter_group& group) {
  if ((group.flags & LOUPE_GROUP_HAS_LEARNING_RATE) == 0) return std::nullopt;
  return group.learning_rate;
}
inline std::optional<double> weight_decay_of(const loupe_parameter_group& group) {
  if ((group.flags & LOUPE_GROUP_HAS_WEIGHT_DECAY) == 0) return std::nullopt;
  return group.weight_decay;
}
/// A number among its settings, by LibTorch's name: "dampening", "beta2", "eps"; 1 or 0 for a flag such as "nesterov".
inline std::optional<double> setting_of(const loupe_parameter_group& group, std::string_view name) {
  if (group.settings == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < group.settings->value_count; ++i) {
    const loupe_option_value& value = *group.settings->values[i];
    if (name != value.name) continue;
    if (value.type == LOUPE_TYPE_NUMBER) return value.number;
    if (value.type == LOUPE_TYPE_INTEGER || value.type == LOUPE_TYPE_BOOLEAN) return static_cast<double>(value.integer);
  }
  return std::nullopt;
}
/// The share of the last update that enters the next one; for Adam, its first beta.
inline std::optional<double> momentum_of(const loupe_parameter_group& group) {
  const std::optional<double> momentum = setting_of(group, "momentum");
  return momentum ? momentum : setting_of(group, "beta1");
}

}  // namespace v1_0
}  // namespace loupe
