#pragma once

#include <loupe/visualizer.h>

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace loupe::tensorboard {

using Setting = std::variant<std::string, bool, double>;
using Settings = std::map<std::string, Setting>;

/// What a run was told to be set to; a list is joined by commas.
Setting setting_of(const Hyperparameter& value);

// Each gives a serialised HyperparameterData; times are seconds since 1970.

/// What TensorBoard's page of hyperparameters shows: these settings, and these scalars beside them.
std::string experiment(const Settings& settings, const std::vector<std::string>& metrics);
std::string session_start(const Settings& settings, double time);
/// @param how LOUPE_END_
std::string session_end(std::uint32_t how, double time);

}  // namespace loupe::tensorboard
