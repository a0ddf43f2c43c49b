// Parses the lines of a record that are few and small, so that a tree of JSON is fast enough.

#include <loupe/abi.h>
#include <loupe/error.h>
#include <loupe/internal/bounds.h>
#include <loupe/text/number_text.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "record/reader/record_line.h"
#include "record/reader/suggestion.h"

namespace loupe::replay {
namespace {

constexpr int newest_format = 3;
constexpr auto replaced = nlohmann::json::error_handler_t::replace;

[[noreturn]] void fail_by_type(const char* kind) {
  throw Error(std::string("a value of this ") + kind +
              " line is not of the type that a record gives it; was the file changed by hand?");
}

template <class Whole>
Whole whole(const nlohmann::json& value, const char* name) {
  // The JSON library would convert fractions and numbers that are too large without an error.
  const bool fits = value.is_number_unsigned()
                        ? std::in_range<Whole>(value.get<std::uint64_t>())
                        : value.is_number_integer() && std::in_range<Whole>(value.get<int64_t>());
  if (!fits) {
    throw Error("'" + std::string(name) + "' cannot be " + value.dump(-1, ' ', true, replaced) +
                ": it is a whole number; was the file changed by hand?");
  }
  return value.get<Whole>();
}
template <class Whole>
Whole whole_or(Whole otherwise, const nlohmann::json& object, const char* name) {
  return object.contains(name) ? whole<Whole>(object[name], name) : otherwise;
}

/// The number of elements of a tensor of these sizes; nullopt if no tensor can have them.
std::optional<int64_t> elements_of(const std::vector<int64_t>& sizes) {
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; })) return std::nullopt;
  if (std::count(sizes.begin(), sizes.end(), 0) > 0) return 0;
  int64_t product = 1;
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(product, size, &product)) return std::nullopt;
  }
  return product;
}

/// Throws Error if the shapes do not fit the module's number of elements.
std::vector<RecordedModel::Parameter> parameters_in(const nlohmann::json& module) {
  const auto elements = whole_or(int64_t{0}, module, "parameters");
  std::vector<std::vector<int64_t>> shapes;
  for (const auto& told : module.value("shapes", std::vector<std::vector<nlohmann::json>>())) {
    for (auto& sizes = shapes.emplace_back(); const auto& size : told) sizes.push_back(whole<int64_t>(size, "shapes"));
  }
  if (shapes.empty() && elements > 0) return {{{elements}, elements}};
  std::vector<RecordedModel::Parameter> parameters;
  int64_t sum = 0;
  bool fits = true;
  for (const auto& sizes : shapes) {
    const auto count = elements_of(sizes);
    fits = fits && count.has_value() && !__builtin_add_overflow(sum, *count, &sum);
    parameters.push_back({sizes, count.value_or(0)});
  }
  if (!fits || (!shapes.empty() && sum != elements)) {
    throw Error("the shapes of the module '" + module.value("name", "") + "' do not make up its " +
                std::to_string(elements) + " elements; was the file changed by hand?");
  }
  return parameters;
}

}  // namespace

RecordedModel parse_model_line(std::string_view text) try {
  const auto json = parse_bounded<nlohmann::json>(text);
  RecordedModel model;
  model.name = json.value("name", "");
  model.type = json.value("type", "");
  model.parameters = whole_or(int64_t{0}, json, "parameters");
  for (const auto& each : json.value("modules", nlohmann::json::array())) {
    model.modules.push_back(
        {each.value("name", ""), each.value("type", ""), parameters_in(each), each.value("leaf", false)});
  }
  return model;
} catch (const nlohmann::json::exception&) {
  fail_by_type("model");
}

RecordedSetting parse_hyperparameter_line(std::string_view text) try {
  const auto json = parse_bounded<nlohmann::json>(text);
  RecordedSetting setting;
  setting.name = json.at("name").get<std::string>();
  const std::string type = json.at("type").get<std::string>();
  const auto& value = json.at("setting");
  if (type == "boolean") {
    setting.type = LOUPE_TYPE_BOOLEAN;
    setting.integer = value.get<bool>() ? 1 : 0;
  } else if (type == "integer") {
    setting.type = LOUPE_TYPE_INTEGER;
    setting.integer = whole<std::int64_t>(value, "setting");
    setting.number = static_cast<double>(setting.integer);
  } else if (type == "number") {
    setting.type = LOUPE_TYPE_NUMBER;
    setting.number = value.is_string() ? number_named(value.get<std::string>()).value() : value.get<double>();
  } else if (type == "string") {
    setting.type = LOUPE_TYPE_STRING;
    setting.string = value.get<std::string>();
  } else if (type == "strings") {
    setting.type = LOUPE_TYPE_STRINGS;
    setting.strings = value.get<std::vector<std::string>>();
  } else if (type == "map") {
    setting.type = LOUPE_TYPE_MAP;
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
  const auto json = parse_bounded<nlohmann::json>(text);
  const int format = whole_or(0, json, "format");
  if (format < 1 || format > newest_format) {
    throw Error("this record has format " + std::to_string(format) + ", and this Loupe reads up to format " +
                std::to_string(newest_format) + "; update Loupe");
  }
  RecordedRun run;
  run.format = format;
  run.name = json.value("name", "");
  run.config = json.value("config", "");
  run.started = json.value("started", "");
  run.loupe_version = json.value("loupe_version", "");
  // Older records know only one framework.
  const std::string libtorch = json.value("libtorch_version", "");
  run.framework = json.value("framework", libtorch.empty() ? "" : "libtorch");
  run.framework_version = json.value("framework_version", libtorch);
  run.resumed = json.value("resumed", false);
  for (auto [key, name] : {std::pair("train_loss", &run.train_loss), std::pair("val_loss", &run.validation_loss)}) {
    // Older records lack these members.
    if (const std::string written = json.value(key, ""); !written.empty()) *name = written;
  }
  if (const auto lenses = json.find("lenses"); lenses != json.end()) {
    for (const auto& lens : *lenses) run.lenses.push_back(lens.get<std::string>());
  }
  run.directory = json.value("directory", "");
  run.start_time = json.value("start_time", 0.0);
  if (!(run.start_time >= 0 && run.start_time <= latest_time)) {
    throw Error("'start_time' cannot be " + number_text(run.start_time) +
                ": it is in seconds since 1970, up to the year 9999; was the file changed by hand?");
  }
  run.rank = whole_or(0, json, "rank");
  run.world_size = whole_or(1, json, "world_size");
  if (run.world_size < 1 || run.world_size > most_ranks || run.rank < 0 || run.rank >= run.world_size) {
    throw Error("this record cannot be of rank " + std::to_string(run.rank) + " of " + std::to_string(run.world_size) +
                "; was the file changed by hand?");
  }
  return run;
} catch (const nlohmann::json::exception&) {
  fail_by_type("run");
}

}  // namespace loupe::replay
