#pragma once

#include <loupe/host.h>

#include <limits>
#include <map>
#include <optional>
#include <string>

#include "record/reader/record_line.h"

namespace loupe::record {

using Models = std::map<std::string, replay::RecordedModel>;  ///< by name
using Settings = std::map<std::string, std::string>;          ///< texts by dotted names

/// The settings of a run without those that may change when it is resumed: its name, its folder, and `resume`.
Settings compared_settings(const loupe_options* settings);
/// The differences between the settings, in words; "" if there are none, or the earlier settings are unknown.
std::string other_settings(const Settings& before, const Settings& now);

/// The run that a resumed run continues, as far as its record can be read.
struct EarlierRun {
  std::string config;
  Models models;
  std::optional<loupe_moment> last;  // the tick with the greatest epoch below `before`

  /// Returns nullopt if there is no record.
  static std::optional<EarlierRun> read(const std::string& record,
                                        double before = std::numeric_limits<double>::infinity());
  /// The settings in the configuration; empty if the host does not read it.
  Settings settings(const Host& host) const;
  /// The differences between the models, in words; "" if there are none, or the record contains no models.
  std::string other_models(const Models& now) const;
};

}  // namespace loupe::record
