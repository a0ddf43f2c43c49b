#ifndef LOUPE_PLUGINS_GATHERERS_STEP_TIME_H
#define LOUPE_PLUGINS_GATHERERS_STEP_TIME_H

#include <loupe/draft/abi/step_time.h>
#include <loupe/plugin.h>

namespace loupe {

/// What the steps that are timed take: as a whole, or in one module.
class StepTime : public Gatherer {
 public:
  static constexpr const char* name = "step_time";
  static constexpr const char* help = "what a step takes, of a module or as a whole; one step in 17 is timed";
  static std::vector<Option> options() { return {}; }
  explicit StepTime(const Options&) {}
  void open(const std::optional<Module>&, const char* label) override {
    if (label != nullptr) {
      throw Error(std::string("the gatherer 'step_time' takes no parameter; leave out '") + label + "'", LOUPE_INVALID);
    }
    subscribe(LOUPE_DRAFT_TAP_STEP_TIME);
  }
};

}  // namespace loupe

#endif
