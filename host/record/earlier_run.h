#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
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

}  // namespace loupe
