#pragma once

#include <loupe/draft/abi/loss_input.h>
#include <loupe/plugin.h>

#include <string>

namespace loupe {

/// What passes through a module as a whole: it is watched without a label. A gatherer whose tap has several tensors
/// says in `which` what its option for one of them is called.
template <class Self, uint32_t tap>
class ModuleGatherer : public Gatherer {
 public:
  explicit ModuleGatherer([[maybe_unused]] const Options& options) {
    if constexpr (Self::which != nullptr) index_ = options.get<uint32_t>(Self::which);
  }
  static std::vector<Option> options() {
    if constexpr (Self::which == nullptr) {
      return {};
    } else {
      return {{Self::which, 0, std::string("which ") + Self::which + ", from 0, of a module with several", 0, 1e6}};
    }
  }
  void open(const std::optional<Module>& module, const char* label) override {
    const std::string self = Self::name;
    if (!module) throw Error("the gatherer '" + self + "' watches modules, and was given none", LOUPE_INVALID);
    if (label != nullptr) {
      throw Error("the gatherer '" + self + "' takes no parameter; leave out '" + label + "'", LOUPE_INVALID);
    }
    subscribe(tap, nullptr, index_);
  }

 private:
  uint32_t index_ = 0;
};

class Forward : public ModuleGatherer<Forward, LOUPE_TAP_FORWARD> {
 public:
  static constexpr const char* name = LOUPE_GATHER_FORWARD;
  static constexpr const char* which = "output";
  static constexpr const char* help = "a module's output, at each forward";
  using ModuleGatherer::ModuleGatherer;
};

class ForwardInput : public ModuleGatherer<ForwardInput, LOUPE_TAP_FORWARD_BEFORE> {
 public:
  static constexpr const char* name = LOUPE_GATHER_FORWARD_INPUT;
  static constexpr const char* which = nullptr;
  static constexpr const char* help = "a module's first input, as its forward is entered";
  using ModuleGatherer::ModuleGatherer;
};

class OutputGradient : public ModuleGatherer<OutputGradient, LOUPE_TAP_OUTPUT_GRADIENT> {
 public:
  static constexpr const char* name = LOUPE_GATHER_OUTPUT_GRADIENT;
  static constexpr const char* which = "output";
  static constexpr const char* help = "the gradient of a module's output, at each backward";
  using ModuleGatherer::ModuleGatherer;
};

class InputGradient : public ModuleGatherer<InputGradient, LOUPE_TAP_INPUT_GRADIENT> {
 public:
  static constexpr const char* name = LOUPE_GATHER_INPUT_GRADIENT;
  static constexpr const char* which = "input";
  static constexpr const char* help = "the gradient of a module's input, at each backward";
  using ModuleGatherer::ModuleGatherer;
};

class LossInput : public ModuleGatherer<LossInput, LOUPE_DRAFT_TAP_LOSS_INPUT> {
 public:
  static constexpr const char* name = LOUPE_DRAFT_GATHER_LOSS_INPUT;
  static constexpr const char* which = nullptr;
  static constexpr const char* help = "a draft: of a model's root, what the loss function behind it is given";
  using ModuleGatherer::ModuleGatherer;
};

}  // namespace loupe
