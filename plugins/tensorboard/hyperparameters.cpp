#include "tensorboard/hyperparameters.h"

#include "tensorboard/messages.h"

namespace loupe::tensorboard {

Setting setting_of(const Hyperparameter& value) {
  switch (value.type) {
    case LOUPE_TYPE_BOOLEAN:
      return value.integer != 0;
    case LOUPE_TYPE_INTEGER:
    case LOUPE_TYPE_NUMBER:
      return value.number;
    case LOUPE_TYPE_STRING:
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
