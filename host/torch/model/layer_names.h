#pragma once

#include <string>

#include "pipeline/monitor.h"

namespace loupe {

/// How the modules of one attached model are called where they are shown.
struct LayerNames {
  std::string model;      ///< the name that it was attached under; may be empty
  std::string root_type;  ///< what the root is called where there is no name
  std::string separator;  ///< instead of the dots of a path

  /// The name for a dotted path; "" is the root.
  std::string of(const std::string& path) const;
  /// Of the whole model.
  std::string root() const { return of(""); }
};

/// Warns once if two modules that are watched share a name.
void warn_of_equal_names(const Monitor& monitor);

}  // namespace loupe
