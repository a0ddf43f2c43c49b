#pragma once

#include <set>
#include <string>
#include <vector>

#include "loader/catalogue.h"

namespace loupe {

/// A plot as lenses describe it.
struct TagDescription {
  std::string id, title, unit, description, healthy, advice;
  std::set<std::string> lenses;  ///< that show it
};

/// The plots of every lens in the catalogue, by id: each lens describes them when it runs on a small made-up model,
/// with its default options and with those of its example. A lens that cannot be made is left out.
/// @param paths further folders or files with plugins
/// Registers a visualizer in this process, and silences Loupe's messages while it runs.
std::vector<TagDescription> describe_tags(const Catalogue& catalogue, const std::vector<std::string>& paths);

}  // namespace loupe
