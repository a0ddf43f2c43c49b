#include "record/earlier_run.h"

#include <loupe/draft/abi/settings.h>
#include <loupe/files/gzip.h>
#include <loupe/files/readable.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace loupe::record {
namespace {

/// The first few items of a list, and how many more there are.
std::string listed(const std::vector<std::string>& items) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(items.size(), most); ++i) text += (i == 0 ? "" : ", ") + items[i];
  return items.size() > most ? text + " and " + std::to_string(items.size() - most) + " more" : text;
}

std::string in_words(const replay::RecordedModel::Module& module) {
  std::string shapes;
  for (const auto& parameter : module.parameters) {
    shapes += shapes.empty() ? " of " : " and ";
    for (std::size_t i = 0; i < parameter.sizes.size(); ++i)
      shapes += (i == 0 ? "" : "x") + std::to_string(parameter.sizes[i]);
  }
  return "'" + module.name + "' (" + module.type + shapes + ")";
}

/// A text on how the models differ; "" if they are the same.
std::string difference(const replay::RecordedModel& before, const replay::RecordedModel& now) {
  if (before.type != now.type) return "is a " + now.type + " and was a " + before.type;
  const std::size_t shared = std::min(before.modules.size(), now.modules.size());
  for (std::size_t i = 0; i < shared; ++i) {
    const std::string was = in_words(before.modules[i]), is = in_words(now.modules[i]);
    if (was != is) return "has " + is + " where it had " + was;
  }
  if (before.modules.size() == now.modules.size()) return "";
  return "has " + std::to_string(now.modules.size()) + " modules and had " + std::to_string(before.modules.size());
}

}  // namespace

Settings compared_settings(const loupe_options* settings) {
  Settings texts;
  for (std::size_t i = 0; settings != nullptr && i < settings->value_count; ++i)
    texts[settings->values[i]->name] = setting_text(*settings->values[i]);
  for (const char* name : {"run.name", "run.dir", "run.resume"}) texts.erase(name);
  return texts;
}

std::string other_settings(const Settings& before, const Settings& now) {
  std::vector<std::string> all;
  for (const auto& [name, value] : now) {
    const auto was = before.find(name);
    if (was == before.end()) {
      all.push_back("'" + name + ": " + value + "' is new");
    } else if (was->second != value) {
      all.push_back("'" + name + "' is '" + value + "' and was '" + was->second + "'");
    }
  }
  for (const auto& [name, value] : before) {
    if (now.count(name) == 0) all.push_back("'" + name + ": " + value + "' was removed");
  }
  return before.empty() ? "" : listed(all);
}

std::optional<EarlierRun> EarlierRun::read(const std::string& record, double before) try {
  std::error_code none;
  if (!std::filesystem::is_regular_file(text_file_at(record), none)) return std::nullopt;
  EarlierRun run;
  TextInput input(record);
  const auto is = [](std::string_view line, std::string_view kind) { return line.substr(9, kind.size()) == kind; };
  constexpr std::string_view beginning = "{\"kind\":\"";
  replay::RecordLine parsed;
  for (std::string line; read_line(input, line) && !input.eof();) {
    // Skip lines that are not needed without parsing them: records are long.
    if (line.compare(0, beginning.size(), beginning) != 0) continue;
    try {
      if (is(line, "tick\"")) {
        replay::parse_record_line(line, parsed);
        if (parsed.epoch < before && !(run.last && run.last->epoch > parsed.epoch))
          run.last = {.step = parsed.step, .epoch = parsed.epoch};
      } else if (is(line, "run\"")) {
        run.config = replay::parse_run_line(line).config;
        run.models.clear();
      } else if (is(line, "model\"")) {
        replay::RecordedModel model = replay::parse_model_line(line);
        run.models[model.name] = std::move(model);
      }
    } catch (const std::exception&) {
      // The player of the record reports this fault.
    }
  }
  return run;
} catch (const std::exception&) {
  return std::nullopt;  // the file cannot be read, or does not exist
}

Settings EarlierRun::settings(const Host& host) const {
  Settings settings;
  const auto* service = static_cast<const loupe_draft_settings_service*>(host.get_extension(LOUPE_DRAFT_SETTINGS_ID));
  if (service == nullptr) return settings;
  const auto take = [](void* into, const loupe_options* said) {
    *static_cast<Settings*>(into) = compared_settings(said);
  };
  service->read(host.context(), config.c_str(), take, &settings, nullptr);
  return settings;
}

std::string EarlierRun::other_models(const Models& now) const {
  std::vector<std::string> all;
  for (const auto& [name, model] : now) {
    const auto before = models.find(name);
    const std::string differs = before == models.end() ? "is new" : difference(before->second, model);
    if (!differs.empty()) all.push_back("'" + name + "' " + differs);
  }
  for (const auto& [name, model] : models) {
    if (now.count(name) == 0) all.push_back("'" + name + "' was removed");
  }
  return models.empty() ? "" : listed(all);
}

}  // namespace loupe::record
