#include "replay/audience.h"

#include <loupe/error.h>

namespace loupe::replay {

Audience::Audience(const std::vector<ComponentConfig>& visualizers) {
  for (const ComponentConfig& config : visualizers) {
    try {
      members_.push_back(&own_.emplace_back(config, this));
    } catch (const std::exception& e) {
      throw Error("the visualizer '" + config.name + "' cannot be made: " + e.what());
    }
  }
}

void Audience::fail(const VisualizerNode& member, const char* what) {
  throw Error("the visualizer '" + member.name() + "' failed: " + what);
}

}  // namespace loupe::replay
