#pragma once

#include <loupe/plugin.h>

namespace loupe {

/// What the trainer pushes. It belongs to no module.
class Push : public Gatherer {
 public:
  static constexpr const char* name = LOUPE_GATHER_PUSH;
  static constexpr const char* help = "the losses and metrics that the trainer pushes";
  explicit Push(const Options&) {}
  void open(const std::optional<Module>& module, const char*) override {
    if (module) throw Error("the gatherer 'push' watches what the trainer pushes, not a module", LOUPE_INVALID);
    subscribe(LOUPE_TAP_PUSH);
  }
};

}  // namespace loupe
