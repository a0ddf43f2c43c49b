#ifndef LOUPE_PLUGINS_COMMON_PARAMETERS_H
#define LOUPE_PLUGINS_COMMON_PARAMETERS_H

#include "common/layers.h"

#include <cctype>
#include <string>
#include <vector>

namespace loupe {

inline Option parameters_option(const Strings& standard = {"weight", "bias"}) {
  return {"parameters", standard, "which parameters to look at; a layer that lacks one is shown without it"};
}

/// "Weight Ih L0" for "weight_ih_l0".
inline std::string title_of(std::string name) {
  bool begins = true;
  for (char& letter : name) {
    if (letter == '_') letter = ' ';
    if (begins) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    begins = letter == ' ';
  }
  return name;
}

/// The layers that have a parameter, for each parameter that a lens looks at.
class Parameters {
 public:
  struct Parameter {
    std::string name;
    std::string title;
    Layers layers;
  };

  explicit Parameters(const Options& options) {
    for (const std::string& name : options.get<Strings>("parameters"))
      parameters_.push_back({name, title_of(name), {}});
  }

  /// Calls `watch(name)`, which gives a Source, for each of the parameters that `module` itself owns.
  template <class Watch>
  void visit(const Module& module, Watch&& watch) {
    if (module.is_loss()) return;
    for (Parameter& parameter : parameters_) {
      if (module.has_parameter(parameter.name)) parameter.layers.emplace_back(module, watch(parameter.name.c_str()));
    }
  }
  void forget(const Module& module) {
    for (Parameter& parameter : parameters_) loupe::forget(parameter.layers, module);
  }

  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }

 private:
  std::vector<Parameter> parameters_;
};

}  // namespace loupe

#endif
