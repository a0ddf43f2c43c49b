#include "tensorboard/hyperparameters.h"

#include "tensorboard/messages.h"

#include <yaml-cpp/yaml.h>

#include <set>

namespace loupe::tensorboard {

namespace {

const std::set<std::string> NO_HYPERPARAMETERS = {"loupe", "plugins", "visualizers", "run.dir", "run.name"};

std::string joined(const std::string& prefix, const std::string& key) {
  return prefix.empty() ? key : prefix + "." + key;
}

Setting setting_of(const YAML::Node& scalar) {
  bool boolean = false;
  double number = 0;
  // A quoted scalar is a text whatever it looks like.
  const bool quoted = scalar.Tag() == "!";
  if (!quoted && YAML::convert<double>::decode(scalar, number)) return number;
  if (!quoted && YAML::convert<bool>::decode(scalar, boolean)) return boolean;
  return scalar.Scalar();
}

void flatten(const YAML::Node& node, const std::string& name, Settings& settings) {
  if (NO_HYPERPARAMETERS.count(name) != 0) return;
  if (node.IsScalar()) {
    settings[name] = setting_of(node);
  } else if (node.IsMap()) {
    for (const auto& item : node) {
      if (item.first.IsScalar()) flatten(item.second, joined(name, item.first.Scalar()), settings);
    }
  } else if (node.IsSequence()) {
    std::string scalars;
    for (const YAML::Node& item : node) {
      if (!item.IsScalar()) {
        flatten(item, name, settings);
      } else {
        scalars += (scalars.empty() ? "" : ", ") + item.Scalar();
      }
    }
    if (!scalars.empty()) settings[name] = scalars;
  }
}

}  // namespace

Settings settings_of(const std::string& config) {
  Settings settings;
  try {
    const YAML::Node root = YAML::Load(config);
    if (root.IsMap()) flatten(root, "", settings);
  } catch (const YAML::Exception&) {
    // The host has refused a bad config long before; a config in another form has no hyperparameters to show.
    settings.clear();
  }
  return settings;
}

Setting setting_of(const Hyperparameter& value) {
  switch (value.type) {
    case LOUPE_OPTION_BOOLEAN:
      return value.integer != 0;
    case LOUPE_OPTION_INTEGER:
    case LOUPE_OPTION_NUMBER:
      return value.number;
    case LOUPE_OPTION_STRING:
      return std::string(value.string);
    default:
      std::string all;
      for (std::size_t i = 0; i < value.string_count; ++i) all += (i == 0 ? "" : ", ") + std::string(value.strings[i]);
      return all;
  }
}

std::string experiment(const Settings& settings, const std::vector<std::string>& metrics) {
  constexpr int types[] = {HYPERPARAMETER_STRING, HYPERPARAMETER_BOOLEAN, HYPERPARAMETER_NUMBER};
  std::string text;
  protozero::pbf_builder<HyperparameterData> data(text);
  protozero::pbf_builder<Experiment> experiment(data, HyperparameterData::message_experiment);
  for (const auto& [name, setting] : settings) {
    protozero::pbf_builder<HyperparameterInfo> info(experiment, Experiment::message_hyperparameter);
    info.add_string(HyperparameterInfo::string_name, name);
    info.add_enum(HyperparameterInfo::enum_type, types[setting.index()]);
  }
  for (const std::string& metric : metrics) {
    protozero::pbf_builder<MetricInfo> info(experiment, Experiment::message_metric);
    protozero::pbf_builder<MetricName>(info, MetricInfo::message_name).add_string(MetricName::string_tag, metric);
  }
  return text;
}

std::string session_start(const Settings& settings, double time) {
  std::string text;
  protozero::pbf_builder<HyperparameterData> data(text);
  protozero::pbf_builder<SessionStart> start(data, HyperparameterData::message_session_start);
  for (const auto& [name, setting] : settings) {
    protozero::pbf_builder<MapEntry> entry(start, SessionStart::map_hyperparameters);
    entry.add_string(MapEntry::string_key, name);
    protozero::pbf_builder<Value> value(entry, MapEntry::message_value);
    if (const auto* content = std::get_if<std::string>(&setting)) value.add_string(Value::string_text, *content);
    if (const auto* boolean = std::get_if<bool>(&setting)) value.add_bool(Value::bool_boolean, *boolean);
    if (const auto* number = std::get_if<double>(&setting)) value.add_double(Value::double_number, *number);
  }
  start.add_double(SessionStart::double_start_time, time);
  return text;
}

std::string session_end(std::uint32_t how, double time) {
  std::string text;
  protozero::pbf_builder<HyperparameterData> data(text);
  protozero::pbf_builder<SessionEnd> end(data, HyperparameterData::message_session_end);
  end.add_enum(SessionEnd::enum_status, how == LOUPE_END_COMPLETED ? SESSION_SUCCESS
                                        : how == LOUPE_END_FAILED  ? SESSION_FAILURE
                                                                   : SESSION_UNKNOWN);
  end.add_double(SessionEnd::double_end_time, time);
  return text;
}

}  // namespace loupe::tensorboard
