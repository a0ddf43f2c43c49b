#pragma once

#include <loupe/host.h>

#include <limits>
#include <map>
#include <optional>
#include <string>

#include "record/reader/record_line.h"

namespace loupe::record {

using Models = std::map<std::string, replay::RecordedModel>;  ///< by name
using Settings = std::map<std::string, std::string>;          ///< by dotted names, as texts

/// The settings of a run, without what may differ in the same one: its name and folder, and whether it goes on.
Settings compared_settings(const loupe_options* settings);
/// How the settings differ from those before, in words; "" where they do not, or nothing is known of those before.
std::string other_settings(const Settings& before, const Settings& now);

/// The run that a resumed one continues, as far as its record can be read.
struct EarlierRun {
  std::string config;
  Models models;
  std::optional<loupe_moment> last;  // the tick with the greatest epoch below the one asked for

  /// Nothing where there is no record.
  static std::optional<EarlierRun> read(const std::string& record,
                                        double before = std::numeric_limits<double>::infinity());
  /// What the configuration says; nothing where the host does not read it.
  Settings settings(const Host& host) const;
  /// How the models differ now, in words; "" where they do not, or the record names none.
  std::string other_models(const Models& now) const;
};

}  // namespace loupe::record
