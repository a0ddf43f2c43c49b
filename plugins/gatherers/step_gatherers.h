#pragma once

#include <loupe/draft/abi/step_time.h>
#include <loupe/plugin.h>

#include <string>

namespace loupe {

/// What single steps cost: as a whole, or in one module.
template <class Self, uint32_t tap>
class StepGatherer : public Gatherer {
 public:
  explicit StepGatherer(const Options&) {}
  void open(const std::optional<Module>&, const char* label) override {
    if (label != nullptr) {
      throw Error(std::string("the gatherer '") + Self::name + "' takes no parameter; leave out '" + label + "'",
                  LOUPE_INVALID);
    }
    subscribe(tap);
  }
};

class StepTime : public StepGatherer<StepTime, LOUPE_DRAFT_TAP_STEP_TIME> {
 public:
  static constexpr const char* name = LOUPE_DRAFT_GATHER_STEP_TIME;
  static constexpr const char* help = "a draft: what a step takes, of a module or as a whole; one step in 17 is timed";
  using StepGatherer::StepGatherer;
};

class StepMemory : public StepGatherer<StepMemory, LOUPE_DRAFT_TAP_STEP_MEMORY> {
 public:
  static constexpr const char* name = LOUPE_DRAFT_GATHER_STEP_MEMORY;
  static constexpr const char* help =
      "a draft: what a step holds in memory, of a module or as a whole; of one step a tick";
  using StepGatherer::StepGatherer;
};

}  // namespace loupe
