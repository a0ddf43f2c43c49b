#include "core/diagnostics.h"

#include <algorithm>

#include "loupe/config_error.h"

namespace loupe {

void Diagnostics::error(const YAML::Mark& mark, const std::string& message) {
  // yaml-cpp counts from 0, and has no place for a node that is not there.
  const int line = mark.is_null() ? 1 : mark.line + 1;
  const int column = mark.is_null() ? 1 : mark.column + 1;
  lines_.push_back(
      {{line, column}, file_ + ":" + std::to_string(line) + ":" + std::to_string(column) + ": error: " + message});
}

std::string Diagnostics::text() const {
  auto sorted = lines_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (const auto& [place, line] : sorted) text += (text.empty() ? "" : "\n") + line;
  return text;
}

void Diagnostics::throw_if_any() const {
  if (!empty()) throw ConfigError(text());
}

}  // namespace loupe
