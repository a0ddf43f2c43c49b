#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "loader/visualizer_node.h"
#include "record/earlier_run.h"

namespace loupe {

/// The history of a resumed run, for visualizers that do not keep it themselves: those with an option `past` ("all", or
/// "values" for no notes and findings). It is read from the record that the same configuration writes.
class ResumedHistory {
 public:
  /// Notes which visualizers want the history, and where the record is.
  explicit ResumedHistory(const std::vector<ComponentConfig>& visualizers = {});

  /// Plays what there is before epoch `before` to a visualizer that has begun, if it wants it and there is a record.
  /// Logs what is wrong with the record.
  /// @param directory the run's
  void tell(VisualizerNode& visualizer, const std::string& directory, double before) const;
  /// The absolute path of the record; empty where there is none.
  /// @param directory the run's
  std::string record_in(const std::string& directory) const;
  /// Logs how the configuration and the models differ from those before the run was resumed.
  void warn_of_differences(const std::string& directory, const std::string& config, const RecordedModels& models) const;

 private:
  std::map<std::string, bool> wanted_by_;  // by name, whether notes and findings are wanted too
  std::string start_, record_;             // the working directory at first; relative to the run's, or ""
};

}  // namespace loupe
