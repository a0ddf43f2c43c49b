#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace loupe {

/// So many names are easier to find in columns than in a sentence.
constexpr std::size_t many_names = 20;
/// Names in columns, row by row, in lines of at most `width` with `indent` spaces before each; without the last
/// line's end. `width` counts the indent.
std::string in_columns(const std::vector<std::string>& names, std::size_t width, std::size_t indent);

/// "; did you mean 'x'?" for the known name that `name` may be a misspelling of, or "; known are …" when none is near,
/// which many names follow on lines of their own.
std::string suggestion(const std::string& name, const std::vector<std::string>& known);

}  // namespace loupe
