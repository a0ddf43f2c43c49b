#pragma once

#include <loupe/layers.h>
#include <loupe/module_filter.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// "Running Mean" for "running_mean".
inline std::string title_of(std::string name) {
  bool begins = true;
  for (char& letter : name) {
    if (letter == '_') letter = ' ';
    if (begins) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    begins = letter == ' ';
  }
  return name;
}

/// Whether a parameter is shown with the weights rather than the biases: it is called "weight", or has two or more
/// dimensions.
inline bool is_weight(const Parameter& parameter) {
  const std::string_view name = parameter.name;
  return name == "weight" || (name != "bias" && parameter.dim >= 2);
}

/// The parameters that a lens watches, in the modules that ModuleFilter takes: the options `parameters`, `include` and
/// `exclude`. They are shown in two roles, "Weight" and "Bias", each a title for plots.
class Parameters {
 public:
  struct Role {
    std::string title;  ///< "Weight" or "Bias"
    /// Each has the module's name, followed by the parameter's ("lstm.weight_ih_l0") if the module has several of the
    /// role; those called `weight` and `bias` have only the module's.
    Layers layers;
  };

  static std::vector<Option> options(const Strings& standard = {"*"}) {
    return joined_options(
        {{{"parameters", standard,
           "which parameters of a module: names or globs, weights or biases for all in that role; a vector is a bias "
           "unless it is called weight"}},
         ModuleFilter::options()});
  }

  explicit Parameters(const Options& options)
      : names_("parameters", "parameter", without_none(options.get<Strings>("parameters"))), modules_(options) {}

  /// Calls `watch(name)`, which returns a Source, for each selected parameter that `module` itself owns.
  template <class Watch>
  void visit(const Module& module, Watch&& watch) {
    const bool taken = modules_.takes(module, true);
    if (module.is_loss()) return;
    for (std::size_t i = 0; i < module.parameter_count(); ++i) {
      const Parameter& parameter = module.parameter(i);
      if (is_buffer(parameter)) continue;
      names_.offer(parameter.name);
      if (names_.match([&](const std::string& text) { return fits(text, parameter); }) && taken) {
        role(is_weight(parameter)).layers.push_back({module, watch(parameter.name), shown_as(module, parameter)});
      }
    }
  }
  void forget(const Module& module) {
    for (Role& role : roles_) loupe::forget(role.layers, module);
  }

  /// Warns the user, once, of options that match nothing. Call it in report().
  /// @param watches_more whether it also watches anything else
  void warn(const Host& host, bool watches_more = false) {
    // These select whole groups and are no misspelt names.
    names_.match([](const std::string& text) { return text == "*" || text == "weights" || text == "biases"; });
    const bool misspelt = names_.warn(host);
    modules_.warn(host, watches_more || misspelt || names_.empty() || !roles_.empty());
  }

  /// The roles found so far, weights first.
  auto begin() const { return roles_.begin(); }
  auto end() const { return roles_.end(); }

 private:
  static Strings without_none(Strings names) {
    names.erase(std::remove(names.begin(), names.end(), "none"), names.end());
    return names;
  }
  static bool fits(const std::string& text, const Parameter& parameter) {
    return fits_glob(text, parameter.name) || (text == "weights" && is_weight(parameter)) ||
           (text == "biases" && !is_weight(parameter));
  }
  static std::string shown_as(const Module& module, const Parameter& parameter) {
    const std::string name = module.name(), own = parameter.name;
    int of_role = 0;
    for (std::size_t i = 0; i < module.parameter_count(); ++i) {
      const Parameter& other = module.parameter(i);
      of_role += !is_buffer(other) && is_weight(other) == is_weight(parameter) ? 1 : 0;
    }
    if (of_role == 1 || own == "weight" || own == "bias") return name;
    return name.empty() ? own : name + "." + own;
  }
  Role& role(bool weight) {
    const std::string title = weight ? "Weight" : "Bias";
    for (Role& role : roles_) {
      if (role.title == title) return role;
    }
    return *roles_.insert(weight ? roles_.begin() : roles_.end(), {title, {}});
  }

  WantedNames names_;
  ModuleFilter modules_;
  std::vector<Role> roles_;
};

}  // namespace v1_0
}  // namespace loupe
