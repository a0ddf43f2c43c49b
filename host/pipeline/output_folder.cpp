#include "pipeline/output_folder.h"

#include <loupe/files/new_file.h>
#include <loupe/files/older.h>
#include <loupe/options.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "core/log.h"

namespace loupe {

void OutputFolder::expect_files_of(const std::vector<ComponentConfig>& visualizers) {
  for (const ComponentConfig& component : visualizers) {
    const Options options(component.options->get());
    if (!options.has("path")) continue;
    if (const auto path = options.get<std::string>("path"); !path.empty()) files_.push_back(path);
  }
}

void OutputFolder::claim() {
  if (config_.lenses.empty() && config_.visualizers.empty()) return;
  RunDescription run = display_.run();
  const bool is_lost = claimed_ == run.directory && folder_.is_lost(), is_new = is_lost || claimed_ != run.directory;
  if (is_lost) {
    run.resumed = false;  // the new folder does not have the files that this run resumed
    run.directory = folder_.retake(run.directory);
    if (run.directory == *claimed_) {
      display_.set_run(run);
    } else {
      display_.move(run);
    }
  } else if (claimed_ != run.directory) {
    const bool is_shared = !config_.has_run_directory && run.directory == config_.run_directory;
    if (is_shared) {
      folder_.take("");
    } else {
      run.directory = folder_.take(run.directory);
    }
    display_.set_run(run);
  }
  claimed_ = run.directory;
  if (is_new && is_own()) NewFile::remove_left_behind(run.directory);
  keep_merged(run);
  if (run.resumed) return;
  const bool has_kept = folder_.keep_older(files_);
  if (!is_lost) kept_older_ = has_kept || kept_older_;
}

/// Moves an outdated merged run aside.
void OutputFolder::keep_merged(const RunDescription& run) {
  if (run.world_size == 1 || run.rank != 0 || std::exchange(has_kept_merged_, true)) return;
  const std::filesystem::path merged = std::filesystem::path(run.directory) / merged_folder_name;
  std::error_code none;
  if (!std::filesystem::is_directory(merged, none)) return;
  try {
    log(LOUPE_LOG_INFO, "what 'loupe merge' made of an earlier run is kept in '" +
                            loupe::keep_older(merged, run.start_time).string() + "'");
  } catch (const std::system_error& reason) {
    log(LOUPE_LOG_WARNING, "what 'loupe merge' made of an earlier run stays in '" + merged.string() +
                               "', as it cannot be moved: " + reason.code().message());
  }
}

bool OutputFolder::is_own() const {
  return (config_.has_run_directory || display_.run().directory != config_.run_directory);
}

}  // namespace loupe
