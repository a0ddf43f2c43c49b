#pragma once

#include <map>
#include <string>
#include <vector>

#include "port/record.h"

namespace loupe::port {

/// Which module of one model is which of another.
struct Alignment {
  std::map<std::string, std::string> to_second;  ///< names of the first record's modules to those of the second's
  std::vector<std::string> only_first, only_second;
  bool by_name = true;  ///< every name stands for itself

  /// Null where the module has no counterpart.
  const std::string* second(const std::string& first) const;
  const std::string* first(const std::string& second) const;
  /// The names that differ as a YAML file for `--map`.
  std::string yaml() const;
};

/// Aligns by name as long as types or shapes fit, otherwise by order, type and the shapes of parameters.
/// @param given what the user says is the same, by the first record's names. Throws UsageError for names that a record
/// has not.
Alignment align_modules(const Record& first, const Record& second, const std::map<std::string, std::string>& given);

/// Reads a YAML file with the one key `modules`, a map from names to names. Throws ConfigError with its place.
std::map<std::string, std::string> read_module_map(const std::string& file);

/// Renumbers calls where a module runs more often in one record, as where the other calls a function once in its place:
/// a call gets the number of the call that it corresponds to.
void align_calls(Record& first, Record& second, const Alignment& alignment);

}  // namespace loupe::port
