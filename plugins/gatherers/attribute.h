#pragma once

#include <loupe/plugin.h>

#include <string>

namespace loupe {

/// A value that belongs to a module, read when its forward is entered, left, or both: a parameter, a buffer such as
/// running_mean, one of a child ("a.b"), or what the trainer exposed.
class Attribute : public Gatherer {
 public:
  static constexpr const char* name = LOUPE_GATHER_ATTRIBUTE;
  static constexpr const char* help = "a parameter, buffer or exposed value of a module, around each forward";
  static std::vector<Option> options() {
    return {{"when", "after", "when it is read: as the forward is entered, left, or both", {"before", "after", "both"}},
            {"missing", false, "also hand on the forwards at which it has no value"}};
  }
  explicit Attribute(const Options& options)
      : when_(options.get<std::string>("when")), missing_(options.get<bool>("missing")) {}

  void open(const std::optional<Module>& module, const char* label) override {
    if (!module) throw Error("the gatherer 'attribute' watches modules, and was given none", LOUPE_INVALID);
    if (label == nullptr || *label == '\0') {
      throw Error("the gatherer 'attribute' needs the name of an attribute, such as 'running_mean'", LOUPE_INVALID);
    }
    if (when_ != "after") subscribe(LOUPE_TAP_ATTRIBUTE_BEFORE, label);
    if (when_ != "before") subscribe(LOUPE_TAP_ATTRIBUTE, label);
  }
  void event(const Event& event) override {
    // Preprocessors that measure have nothing to measure without a tensor.
    if (event.tensor() || missing_) emit(*event.raw());
  }

 private:
  std::string when_;
  bool missing_;
};

}  // namespace loupe
