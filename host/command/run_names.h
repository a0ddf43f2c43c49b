#pragma once

#include <string>
#include <vector>

namespace loupe {

/// Each run's name, with what tells its record's path from the others' behind it where some names are equal; where all
/// are, that alone.
std::vector<std::string> distinct_names(const std::vector<std::string>& names, const std::vector<std::string>& files);

/// The names without the words that all begin or end with: "0.1" and "0.01" of "digits-0.1" and "digits-0.01". Words
/// stand between blanks, '-', '_' and '/'. Names that are distinct stay so, and none becomes empty.
std::vector<std::string> shortened_names(const std::vector<std::string>& names);

}  // namespace loupe
