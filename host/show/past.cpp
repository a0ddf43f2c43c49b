#include "show/past.h"

#include <loupe/options.h>

#include <exception>
#include <filesystem>
#include <system_error>

#include "core/log.h"
#include "replay/player.h"

namespace loupe {

Past::Past(const std::vector<ComponentConfig>& visualizers) {
  for (const ComponentConfig& config : visualizers) {
    const Options options(config.options->get());
    const auto wanted = options.has("past") ? options.get<std::string>("past") : "none";
    if (wanted != "none") wanted_by_[config.name] = wanted == "all";
    if (config.entry.component->name == std::string("record") && options.has("path"))
      record_ = options.get<std::string>("path");
  }
}

void Past::tell(VisualizerNode& visualizer, const std::string& directory, double before) const {
  const auto wanted = wanted_by_.find(visualizer.name());
  if (record_.empty() || wanted == wanted_by_.end()) return;
  const std::string file = (std::filesystem::path(directory) / record_).string();
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none) || std::filesystem::file_size(file, none) == 0) return;
  try {
    replay::RecordReader record(file);
    replay::Audience audience(visualizer);
    replay::Player(record, audience).play_past(before, wanted->second);
  } catch (const std::exception& reason) {
    log(LOUPE_LOG_WARNING, "the visualizer '" + visualizer.name() +
                               "' shows not all that was before the run was resumed: " + reason.what());
  }
}

}  // namespace loupe
