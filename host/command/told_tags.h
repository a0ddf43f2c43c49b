#ifndef LOUPE_COMMAND_TOLD_TAGS_H
#define LOUPE_COMMAND_TOLD_TAGS_H

#include <set>
#include <string>
#include <vector>

#include "plugins/catalogue.h"

namespace loupe {

/// A plot as lenses tell of it.
struct ToldTag {
  std::string id, title, unit, description, healthy, advice;
  std::set<std::string> lenses;  ///< that show it
};

/// The plots of every lens in the catalogue, by id: what each tells of itself on a small made-up model, with its
/// options as they are by default and as its example has them. A lens that cannot be made is left out.
/// @param paths further folders or files with plugins
/// Registers a visualizer in this process, and silences Loupe's messages while it runs.
std::vector<ToldTag> told_tags(const Catalogue& catalogue, const std::vector<std::string>& paths);

}  // namespace loupe

#endif
