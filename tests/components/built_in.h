#pragma once

#include <string>
#include <vector>

#include "loader/catalogue.h"
#include "paths.h"

namespace loupe {

/// The catalogue of all components of this build.
inline const Catalogue& built_in() {
  static const Catalogue* const all = [] {
    auto* catalogue = new Catalogue();
    catalogue->add_path(BUILT_PLUGINS);
    catalogue->open_all();
    return catalogue;
  }();
  return *all;
}

/// The names that a component declares as its outputs: the words before each colon.
inline std::vector<std::string> given_names(const loupe_component& component) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < component.give_count; ++i) {
    const std::string line = component.gives[i];
    names.push_back(line.substr(0, line.find(": ")));
  }
  return names;
}

/// Whether `given` contains the name; {words} in braces stand for anything.
inline bool is_given(const std::string& name, const std::vector<std::string>& given) {
  for (const std::string& each : given) {
    if (each == name || each[0] == '{') return true;
  }
  return false;
}

}  // namespace loupe
