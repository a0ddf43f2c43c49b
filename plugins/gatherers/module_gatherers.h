#ifndef LOUPE_PLUGINS_GATHERERS_MODULE_GATHERERS_H
#define LOUPE_PLUGINS_GATHERERS_MODULE_GATHERERS_H

#include <loupe/plugin.h>

#include <string>

namespace loupe {

/// What passes through a module as a whole: it is watched without a label.
template <class Self, uint32_t tap>
class ModuleGatherer : public Gatherer {
 public:
  explicit ModuleGatherer(const Options&) {}
  static std::vector<Option> options() { return {}; }
  void open(const std::optional<Module>& module, const char* label) override {
    const std::string self = Self::name;
    if (!module) throw Error("the gatherer '" + self + "' watches modules, and was given none", LOUPE_INVALID);
    if (label != nullptr) {
      throw Error("the gatherer '" + self + "' takes no parameter; leave out '" + label + "'", LOUPE_INVALID);
    }
    subscribe(tap);
  }
};

class Forward : public ModuleGatherer<Forward, LOUPE_TAP_FORWARD> {
 public:
  static constexpr const char* name = "forward";
  static constexpr const char* help = "a module's output, at each forward";
  using ModuleGatherer::ModuleGatherer;
};

class ForwardInput : public ModuleGatherer<ForwardInput, LOUPE_TAP_FORWARD_BEFORE> {
 public:
  static constexpr const char* name = "forward_input";
  static constexpr const char* help = "a module's first input, as its forward is entered";
  using ModuleGatherer::ModuleGatherer;
};

class OutputGradient : public ModuleGatherer<OutputGradient, LOUPE_TAP_OUTPUT_GRADIENT> {
 public:
  static constexpr const char* name = "output_gradient";
  static constexpr const char* help = "the gradient of a module's output, at each backward";
  using ModuleGatherer::ModuleGatherer;
};

class InputGradient : public ModuleGatherer<InputGradient, LOUPE_TAP_INPUT_GRADIENT> {
 public:
  static constexpr const char* name = "input_gradient";
  static constexpr const char* help = "the gradient of a module's first input, at each backward";
  using ModuleGatherer::ModuleGatherer;
};

}  // namespace loupe

#endif
