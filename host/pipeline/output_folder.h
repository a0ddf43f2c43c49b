#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "core/run_folder.h"
#include "show/display.h"

namespace loupe {

/// Claims the output folder of a run, and tells the visualizers. Calls come one at a time.
class OutputFolder {
 public:
  /// @param config, display  outlive this
  OutputFolder(const Config& config, Display& display) : config_(config), display_(display) {}

  /// Keeps earlier files at the option `path` of these when this run begins to write; see RunFolder.
  void expect_files_of(const std::vector<ComponentConfig>& visualizers);
  /// Call before anything is written, so that a trainer that fails before its first epoch moves nothing. Claims another
  /// folder if this one was lost, or the run was given another.
  void claim();
  bool is_claimed() const { return claimed_.has_value(); }
  /// Returns once whether files of an earlier run were kept.
  bool take_kept_older() { return std::exchange(kept_older_, false); }
  /// Whether the run has its own folder, for incidents.
  bool is_own() const;

 private:
  void keep_merged(const RunDescription& run);

  const Config& config_;
  Display& display_;
  RunFolder folder_;
  std::optional<std::string> claimed_;
  std::vector<std::string> files_;
  bool kept_older_ = false, has_kept_merged_ = false;
};

}  // namespace loupe
