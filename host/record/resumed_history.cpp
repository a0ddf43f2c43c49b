#include "record/resumed_history.h"

#include <loupe/options.h>

#include <exception>
#include <filesystem>
#include <system_error>

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

}  // namespace loupe
