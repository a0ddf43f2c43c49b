#ifndef LOUPE_SHOW_PAST_H
#define LOUPE_SHOW_PAST_H

#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "show/visualizer_node.h"

namespace loupe {

/// What a run told before it was resumed, for visualizers that keep nothing of it themselves: those with an option
/// `past`, "all" for everything or "values" without notes and findings. It comes from what the visualizer `record` of
/// the same configuration has kept.
class Past {
 public:
  /// Which of the visualizers want it, and where the record is.
  explicit Past(const std::vector<ComponentConfig>& visualizers = {});

  /// Tells one that has begun what there is before epoch `before`; nothing where it does not want it or there is no
  /// record. What is wrong with the record is told to the user.
  /// @param directory the run's
  void tell(VisualizerNode& visualizer, const std::string& directory, double before) const;

 private:
  std::map<std::string, bool> wanted_by_;  // by name, whether notes and findings are wanted too
  std::string record_;                     // relative to the run's directory; "" where there is none
};

}  // namespace loupe

#endif
