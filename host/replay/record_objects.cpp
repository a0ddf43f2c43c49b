// The lines of a record that are few and small enough to be read as a tree of JSON.

#include <loupe/abi.h>
#include <loupe/error.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "config/suggestion.h"
#include "replay/line_filler.h"
#include "replay/record_line.h"

namespace loupe::replay {
namespace {

constexpr int newest_format = 3;

nlohmann::json parse_small(std::string_view text) {
  constexpr int deepest = 100;
  return nlohmann::json::parse(text, [](int depth, auto, const auto&) {
    if (depth > deepest) throw Error("this line is nested deeper than a record's");
    return true;
  });
}

[[noreturn]] void fail_by_type(const char* kind) {
  throw Error(std::string("a value of this ") + kind +
              " line is not of the type that a record gives it; was the file changed by hand?");
}

}  // namespace

RecordedModel parse_model_line(std::string_view text) try {
  const auto json = parse_small(text);
  RecordedModel model;
  model.name = json.value("name", "");
  model.type = json.value("type", "");
  model.parameters = json.value("parameters", int64_t{0});
  for (const auto& each : json.value("modules", nlohmann::json::array())) {
    model.modules.push_back({each.value("name", ""), each.value("type", ""), each.value("parameters", int64_t{0}),
                             each.value("leaf", false)});
  }
  return model;
} catch (const nlohmann::json::exception&) {
  fail_by_type("model");
}

RecordedSetting parse_hyperparameter_line(std::string_view text) try {
  const auto json = parse_small(text);
  RecordedSetting setting;
  setting.name = json.at("name").get<std::string>();
  const std::string type = json.at("type").get<std::string>();
  const auto& value = json.at("setting");
  if (type == "boolean") {
    setting.type = LOUPE_OPTION_BOOLEAN;
    setting.integer = value.get<bool>() ? 1 : 0;
  } else if (type == "integer") {
    setting.type = LOUPE_OPTION_INTEGER;
    setting.integer = value.get<std::int64_t>();
    setting.number = static_cast<double>(setting.integer);
  } else if (type == "number") {
    setting.type = LOUPE_OPTION_NUMBER;
    setting.number = value.is_string() ? number_named(value.get<std::string>()).value() : value.get<double>();
  } else if (type == "string") {
    setting.type = LOUPE_OPTION_STRING;
    setting.string = value.get<std::string>();
  } else if (type == "strings") {
    setting.type = LOUPE_OPTION_STRINGS;
    setting.strings = value.get<std::vector<std::string>>();
  } else if (type == "map") {
    setting.type = LOUPE_OPTION_MAP;
  } else {
    throw Error("a hyperparameter cannot be of the type '" + type + "'" +
                suggestion(type, {"boolean", "integer", "number", "string", "strings", "map"}));
  }
  return setting;
} catch (const nlohmann::json::exception&) {
  fail_by_type("hyperparameter");
} catch (const std::bad_optional_access&) {
  fail_by_type("hyperparameter");
}

RecordedRun parse_run_line(std::string_view text) try {
  const auto json = parse_small(text);
  const int format = json.value("format", 0);
  if (format < 1 || format > newest_format) {
    throw Error("this record is of format " + std::to_string(format) + ", and this Loupe reads up to format " +
                std::to_string(newest_format) + "; update Loupe");
  }
  RecordedRun run;
  run.format = format;
  run.name = json.value("name", "");
  run.config = json.value("config", "");
  run.started = json.value("started", "");
  run.loupe_version = json.value("loupe_version", "");
  run.libtorch_version = json.value("libtorch_version", "");
  run.resumed = json.value("resumed", false);
  run.directory = json.value("directory", "");
  run.start_time = json.value("start_time", 0.0);
  run.rank = json.value("rank", 0);
  run.world_size = json.value("world_size", 1);
  return run;
} catch (const nlohmann::json::exception&) {
  fail_by_type("run");
}

}  // namespace loupe::replay
