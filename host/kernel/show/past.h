#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "loader/visualizer_node.h"

namespace loupe {

/// The past of a resumed run, for visualizers that do not keep it themselves: those with an option `past` ("all", or
/// "values" for no notes and findings). One that stores runs plays it to them.
class Past {
 public:
  /// Notes which visualizers want the past, and where the record is.
  explicit Past(const std::vector<ComponentConfig>& visualizers = {});

  bool is_wanted_by(const std::string& visualizer) const { return wanted_by_.count(visualizer) > 0; }
  /// Plays everything before epoch `before` to a visualizer that has begun and wants it. Logs failures.
  /// @param storing  the run's first visualizer that stored it, or null  @param directory the run's
  void tell(VisualizerNode& visualizer, VisualizerNode* storing, const std::string& directory, double before);
  /// The absolute path of the record; empty without one. Any thread.
  /// @param directory the run's
  std::string record_in(const std::string& directory) const;

 private:
  std::map<std::string, bool> wanted_by_;  // by name; whether notes and findings are also wanted
  std::string start_, record_;  // the initial working directory; the record's path relative to the run's, or ""
  bool is_missed_ = false;      // the user was warned that no visualizer plays the past
};

}  // namespace loupe
