#pragma once

#include <map>
#include <string>
#include <vector>

#include "port/record.h"

namespace loupe::port {

/// Pairs the modules of one model with those of another.
struct Alignment {
  std::map<std::string, std::string> to_second;  ///< names of the first record's modules to those of the second's
  std::vector<std::string> only_first, only_second;
  bool by_name = true;  ///< every module is paired with that of its own name

  /// Null if the module has no counterpart.
  const std::string* second(const std::string& first) const;
  const std::string* first(const std::string& second) const;
  /// The pairs of different names, as a YAML file for `--map`.
  std::string yaml() const;
};

/// Aligns by name as long as types or shapes fit, otherwise by order, type and the shapes of parameters.
/// @param given  pairs that the user names, by the first record's names. Throws UsageError for names that a record does
/// not have.
Alignment align_modules(const Record& first, const Record& second, const std::map<std::string, std::string>& given);

/// Reads a YAML file with the one key `modules`, a map from names to names. Throws ConfigError with its place.
std::map<std::string, std::string> read_module_map(const std::string& file);

/// Renumbers calls if a module runs more often in one record, for example because the other calls a function instead
/// once: a call gets the number of the call that it corresponds to.
void align_calls(Record& first, Record& second, const Alignment& alignment);

}  // namespace loupe::port
