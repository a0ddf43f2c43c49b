#include "core/diagnostics.h"

#include <algorithm>
#include <tuple>

#include "loupe/config_error.h"

namespace loupe {

void Diagnostics::error(const YAML::Mark& mark, const std::string& message) {
  // yaml-cpp counts from 0, and has no place for a node that is not there.
  const int line = mark.is_null() ? 1 : mark.line + 1;
  const int column = mark.is_null() ? 1 : mark.column + 1;
  faults_.push_back({line, column, message});
}

std::vector<Diagnostics::Fault> Diagnostics::sorted() const {
  std::vector<Fault> faults = faults_;
  std::stable_sort(faults.begin(), faults.end(), [](const Fault& a, const Fault& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  return faults;
}

std::string Diagnostics::text() const {
  std::string text;
  for (const Fault& fault : sorted()) {
    text += (text.empty() ? "" : "\n") + file_ + ":" + std::to_string(fault.line) + ":" + std::to_string(fault.column) +
            ": error: " + fault.message;
  }
  return text;
}

std::string Diagnostics::messages() const {
  std::string text;
  for (const Fault& fault : sorted()) text += (text.empty() ? "" : "; ") + fault.message;
  return text;
}

void Diagnostics::throw_if_any() const {
  if (!empty()) throw ConfigError(text());
}

}  // namespace loupe
