#include "record/resumed_history.h"

#include <loupe/files/gzip.h>
#include <loupe/files/readable.h>
#include <loupe/options.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "config/settings.h"
#include "core/log.h"
#include "record/player.h"

namespace loupe {

ResumedHistory::ResumedHistory(const std::vector<ComponentConfig>& visualizers) : record_(record_of(visualizers)) {
  std::error_code none;
  start_ = std::filesystem::current_path(none).string();
  for (const ComponentConfig& config : visualizers) {
    const Options options(config.options->get());
    const auto wanted = options.has("past") ? options.get<std::string>("past") : "none";
    if (wanted != "none") wanted_by_[config.name] = wanted == "all";
  }
}

std::string ResumedHistory::record_in(const std::string& directory) const {
  if (record_.empty()) return "";
  return (std::filesystem::path(start_) / directory / record_).lexically_normal().string();
}

void ResumedHistory::tell(VisualizerNode& visualizer, const std::string& directory, double before) const {
  const auto wanted = wanted_by_.find(visualizer.name());
  if (record_.empty() || wanted == wanted_by_.end()) return;
  const std::filesystem::path file = text_file_at(record_in(directory));
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none) || std::filesystem::file_size(file, none) == 0) return;
  try {
    replay::RecordReader record(file.string());
    replay::VisualizerGroup only(visualizer);
    replay::Player(record, only).play_history(before, wanted->second);
  } catch (const std::exception& reason) {
    log(LOUPE_LOG_WARNING, "the visualizer '" + visualizer.name() +
                               "' shows not all that was before the run was resumed: " + reason.what());
  }
}

void ResumedHistory::warn_of_differences(const std::string& directory, const std::string& config,
                                         const RecordedModels& models) const {
  if (record_.empty()) return;
  const std::string file = (std::filesystem::path(directory) / record_).string();
  const std::optional<EarlierRun> earlier = EarlierRun::read(file);
  if (!earlier) return;
  const auto warn = [&](const std::string& what, const std::string& differences) {
    if (differences.empty()) return;
    log(LOUPE_LOG_WARNING, "this run continues '" + file + "' with another " + what + ": " + differences +
                               "; if it is a different run, leave out 'resume' under run or set another 'dir'");
  };
  warn("configuration", earlier->other_settings(config));
  warn("model", earlier->other_models(models));
}

namespace {

/// The first few of a list, and how many more there are.
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

/// "" where they are alike.
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

std::map<std::string, std::string> compared_settings(const std::string& config) {
  auto settings = setting_texts(config);
  for (const char* name : {"run.name", "run.dir", "run.resume"}) settings.erase(name);
  return settings;
}

std::string record_of(const std::vector<ComponentConfig>& visualizers) {
  for (const ComponentConfig& config : visualizers) {
    const Options options(config.options->get());
    if (config.entry.component->name == std::string("record") && options.has("path"))
      return options.get<std::string>("path");
  }
  return "";
}

std::optional<EarlierRun> EarlierRun::read(const std::string& record) try {
  std::error_code none;
  if (!std::filesystem::is_regular_file(text_file_at(record), none)) return std::nullopt;
  EarlierRun run;
  TextInput input(record);
  const auto is = [](std::string_view line, std::string_view kind) { return line.substr(9, kind.size()) == kind; };
  constexpr std::string_view beginning = "{\"kind\":\"";
  replay::RecordLine parsed;
  for (std::string line; read_line(input, line) && !input.eof();) {
    // Few lines of a long record are worth parsing.
    if (line.compare(0, beginning.size(), beginning) != 0) continue;
    try {
      if (is(line, "tick\"")) {
        replay::parse_record_line(line, parsed);
        run.last_epoch = std::max(run.last_epoch.value_or(parsed.epoch), parsed.epoch);
      } else if (is(line, "run\"")) {
        run.config = replay::parse_run_line(line).config;
        run.models.clear();
      } else if (is(line, "model\"")) {
        replay::RecordedModel model = replay::parse_model_line(line);
        run.models[model.name] = std::move(model);
      }
    } catch (const std::exception&) {
      // Who plays the record tells what is wrong with it.
    }
  }
  return run;
} catch (const std::exception&) {
  return std::nullopt;  // which may not be read
}

std::string EarlierRun::other_settings(const std::string& now) const {
  const auto were = compared_settings(config), are = compared_settings(now);
  std::vector<std::string> all;
  for (const auto& [name, value] : are) {
    const auto before = were.find(name);
    if (before == were.end()) {
      all.push_back("'" + name + ": " + value + "' is new");
    } else if (before->second != value) {
      all.push_back("'" + name + "' is '" + value + "' and was '" + before->second + "'");
    }
  }
  for (const auto& [name, value] : were) {
    if (are.count(name) == 0) all.push_back("'" + name + ": " + value + "' is gone");
  }
  return were.empty() ? "" : listed(all);
}

std::string EarlierRun::other_models(const RecordedModels& now) const {
  std::vector<std::string> all;
  for (const auto& [name, model] : now) {
    const auto before = models.find(name);
    const std::string differs = before == models.end() ? "is new" : difference(before->second, model);
    if (!differs.empty()) all.push_back("'" + name + "' " + differs);
  }
  for (const auto& [name, model] : models) {
    if (now.count(name) == 0) all.push_back("'" + name + "' is gone");
  }
  return models.empty() ? "" : listed(all);
}

}  // namespace loupe
