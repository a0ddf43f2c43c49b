#pragma once

#include <loupe/plugin.h>

#include <string>

namespace loupe {

/// What happens to one parameter of a module: the label names it.
template <class Self, uint32_t tap>
class ParameterGatherer : public Gatherer {
 public:
  explicit ParameterGatherer(const Options&) {}
  void open(const std::optional<Module>& module, const char* label) override {
    const std::string self = Self::name;
    if (!module) throw Error("the gatherer '" + self + "' watches modules, and was given none", LOUPE_INVALID);
    if (label == nullptr || *label == '\0') {
      throw Error("the gatherer '" + self + "' needs the name of a parameter, such as 'weight'", LOUPE_INVALID);
    }
    subscribe(tap, label);
  }
};

class ParameterGradient : public ParameterGatherer<ParameterGradient, LOUPE_TAP_PARAMETER_GRADIENT> {
 public:
  static constexpr const char* name = LOUPE_GATHER_PARAMETER_GRADIENT;
  static constexpr const char* help = "a parameter's gradient, after each backward has added to it";
  using ParameterGatherer::ParameterGatherer;
};

class StepGradient : public ParameterGatherer<StepGradient, LOUPE_TAP_STEP_GRADIENT> {
 public:
  static constexpr const char* name = LOUPE_GATHER_STEP_GRADIENT;
  static constexpr const char* help = "a parameter's gradient as the optimizer is about to use it, once a step";
  using ParameterGatherer::ParameterGatherer;
};

class CallParameter : public ParameterGatherer<CallParameter, LOUPE_TAP_ATTRIBUTE> {
 public:
  static constexpr const char* name = LOUPE_GATHER_CALL_PARAMETER;
  static constexpr const char* help = "a parameter, at each forward of its module";
  using ParameterGatherer::ParameterGatherer;
};

class AtTick : public ParameterGatherer<AtTick, LOUPE_TAP_TICK> {
 public:
  static constexpr const char* name = LOUPE_GATHER_TICK;
  static constexpr const char* help = "a parameter, once a tick";
  using ParameterGatherer::ParameterGatherer;
};

class OptimizerStep : public ParameterGatherer<OptimizerStep, LOUPE_TAP_OPTIMIZER_STEP> {
 public:
  static constexpr const char* name = LOUPE_GATHER_OPTIMIZER_STEP;
  static constexpr const char* help = "a parameter, after each optimizer step";
  using ParameterGatherer::ParameterGatherer;
};

}  // namespace loupe
