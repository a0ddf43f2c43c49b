#pragma once

#include <loupe/detail/wanted_names.h>
#include <loupe/event.h>
#include <loupe/options.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// The names that YAML uses for families of modules, in the order of the LOUPE_FAMILY_ constants.
LOUPE_HIDDEN inline const Strings& family_names() {
  static const auto& names =
      *new Strings{"other",     "activation", "dropout",   "linear",    "convolution", "normalization",
                   "recurrent", "pooling",    "embedding", "attention", "loss",        "padding"};
  return names;
}
/// "other" for a family that this header does not know.
inline const std::string& family_name(const Module& module) {
  return family_names()[module.family() < family_names().size() ? module.family() : std::size_t{LOUPE_FAMILY_OTHER}];
}

inline bool is_activation(const Module& module) {
  return module.family() == LOUPE_FAMILY_ACTIVATION ||
         (module.is_functional() && module.family() == LOUPE_FAMILY_OTHER);
}
inline bool is_dropout(const Module& module) {
  return module.family() == LOUPE_FAMILY_DROPOUT;
}
/// A module without children, one cut by depth, or a function, but not a loss. Lenses of outputs take these by default.
inline bool is_leaf(const Module& module) {
  return (module.is_leaf() || module.is_functional()) && !module.is_loss();
}

/// The options `include` and `exclude`, which mean the same in every lens that looks at modules. Without `include` a
/// lens takes its default modules; with it, exactly those that an entry names: a type ("Linear",
/// "torch::nn::LinearImpl"), a family ("activation"), a name, or a glob over names or types ("encoder.[3-5].*"). An
/// entry after a + ("+Linear") is added to the default instead of taking its place. `exclude` wins.
///
/// A type or name written in full takes a module wherever it is; a family or glob passes over containers, unless the
/// lens looks at containers by default.
class ModuleFilter {
 public:
  static std::vector<Option> options() {
    return {{"include", Strings{},
             "watch exactly these modules: types, families such as linear, names, or globs over names and types; "
             "an entry written +Linear adds to the default modules"},
            {"exclude", Strings{}, "modules left out, in the same form without +; wins over include"}};
  }

  explicit ModuleFilter(const Options& options)
      : only_("include", "module", beginning_with_plus(options, false)),
        more_("include", "module", beginning_with_plus(options, true)),
        exclude_("exclude", "module", options.get<Strings>("exclude")) {
    // A family without modules in the model is not a misspelt name.
    more_.match([](const std::string& text) {
      return std::find(family_names().begin(), family_names().end(), text) != family_names().end();
    });
  }

  /// Call it for each visited module. A loss module is never taken.
  /// @param by_default whether the lens would watch it by default
  bool takes(const Module& module, bool by_default) {
    if (module.is_loss()) return false;
    const bool is_new = std::exchange(last_, module.id()) != module.id();
    seen_ += is_new ? 1 : 0;
    types_.insert(std::string(module.type()));
    const auto fits = [&](const std::string& text) { return matches(text, module, by_default); };
    for (WantedNames* names : {&only_, &more_, &exclude_}) {
      names->offer(module.name());
      names->offer(std::string(module.type()));
      names->offer(family_name(module));
    }
    const bool only = only_.match(fits), more = more_.match(fits), excluded = exclude_.match(fits);
    if (is_new && by_default && !excluded) ++(only || more ? kept_ : displaced_);
    const bool taken = (only || more || (only_.empty() && by_default)) && !excluded;
    has_taken_ = has_taken_ || taken;
    return taken;
  }
  /// Whether it ever took a module, which may be detached by now.
  bool has_taken() const { return has_taken_; }

  /// Warns the user, once, of options without effect, and of a lens that watches nothing. Call it in report(): by then
  /// every module was visited, also functions such as torch::relu.
  /// @param watches whether it watches anything, or did
  void warn(const Host& host, bool watches) {
    if (seen_ == 0) return;
    bool misspelt = false;
    for (WantedNames* names : {&only_, &more_, &exclude_}) misspelt = names->warn(host) || misspelt;
    if (told_) return;
    told_ = true;
    if (!watches && !misspelt) {
      std::string types;
      for (const std::string& type : types_) types += (types.empty() ? "" : ", ") + type;
      host.warn("it watches nothing, so it shows nothing: none of the model's " + std::to_string(seen_) +
                " modules match its options; include names modules by type (here " + types + "), family or name");
    } else if (watches) {
      tell_displaced(host);
    }
    types_.clear();
  }
  /// Informs that `include` names none of the lens's default modules, to which it once added. Part of warn().
  void tell_displaced(const Host& host) {
    if (only_.empty() || kept_ > 0 || displaced_ == 0) return;
    host.info("watches the modules that include names instead of " +
              (displaced_ == 1 ? "the module" : "the " + std::to_string(displaced_) + " modules") +
              " that it watches by default; an entry written with a + adds to those");
    displaced_ = 0;
  }

 private:
  static Strings beginning_with_plus(const Options& options, bool plus) {
    Strings found;
    for (const std::string& text : options.get<Strings>("include")) {
      if ((text.rfind('+', 0) == 0) == plus) found.push_back(plus ? text.substr(1) : text);
    }
    return found;
  }
  static bool matches(const std::string& text, const Module& module, bool by_default) {
    const std::string name = module.name(), path = module.path(), type(module.type()), full(module.full_type());
    if (text == type || text == full || text == name || text == path) return true;
    if (!is_leaf(module) && !by_default) return false;
    return text == family_name(module) || fits_glob(text, name) || fits_glob(text, path) || fits_glob(text, type) ||
           fits_glob(text, full);
  }

  WantedNames only_, more_, exclude_;
  uint64_t last_ = std::numeric_limits<uint64_t>::max();  ///< the module that was seen last
  std::size_t seen_ = 0, kept_ = 0, displaced_ = 0;
  std::set<std::string> types_;
  bool has_taken_ = false, told_ = false;
};

}  // namespace v1_0
}  // namespace loupe
