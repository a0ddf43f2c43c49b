#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "core/run_folder.h"
#include "show/display.h"

namespace loupe {

/// Claims the folder that a run writes into, and tells the visualizers where it is. Calls come one at a time.
class OutputFolder {
 public:
  /// @param config, display  outlive this
  OutputFolder(const Config& config, Display& display) : config_(config), display_(display) {}

  /// What an earlier run left at the option `path` of these is kept when this run begins to write; see RunFolder.
  void expect_files_of(const std::vector<ComponentConfig>& visualizers);
  /// Before anything is written, so that a trainer that fails before its first epoch moves nothing. Later it claims
  /// another folder where this one is lost, or where the run was given another.
  void claim();
  bool is_claimed() const { return claimed_.has_value(); }
  /// Whether files of an earlier run were kept; once.
  bool take_kept_older() { return std::exchange(kept_older_, false); }
  /// Whether the run has a folder of its own, in which incidents may be written.
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
