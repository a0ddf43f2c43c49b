#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace loupe {

/// Writes the values of all records as one table of comma-separated values, whole epochs alone: run, tag, layer, line,
/// epoch, step and value, as Python's loupe.read_all() has it. What was left out at a record's end goes to `errors`.
/// Throws ConfigError for a wrong record.
void write_value_table(const std::vector<std::string>& records, const std::vector<std::string>& names,
                       std::ostream& out, std::ostream& errors);

}  // namespace loupe
