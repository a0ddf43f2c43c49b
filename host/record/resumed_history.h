#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "loader/visualizer_node.h"
#include "record/record_line.h"

namespace loupe {

using RecordedModels = std::map<std::string, replay::RecordedModel>;  ///< by name

/// The path of the record that these visualizers write, relative to the run's directory; "" where they write none.
std::string record_of(const std::vector<ComponentConfig>& visualizers);

/// The settings of a configuration by dotted names, without what may differ in the same run: its name and folder, and
/// whether it goes on.
std::map<std::string, std::string> compared_settings(const std::string& config);

/// The run that a resumed one continues, as far as its record can be read.
struct EarlierRun {
  std::string config;
  RecordedModels models;
  std::optional<double> last_epoch;

  /// Nothing where there is no record.
  static std::optional<EarlierRun> read(const std::string& record);
  /// How the configuration differs now, in words; "" where it does not.
  std::string other_settings(const std::string& now) const;
  /// How the models differ now, in words; "" where they do not, or the record names none.
  std::string other_models(const RecordedModels& now) const;
};

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
