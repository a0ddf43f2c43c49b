#ifndef LOUPE_PLUGINS_COMMON_MODULE_FILTER_H
#define LOUPE_PLUGINS_COMMON_MODULE_FILTER_H

#include <fnmatch.h>
#include <loupe/plugin.h>

#include <string>
#include <utility>
#include <vector>

namespace loupe {

/// Which modules a lens looks at when it has no taste of its own: those that fit each of `types`, `families` and
/// `include` that is given, and nothing of `exclude`.
class ModuleFilter {
 public:
  static std::vector<Option> options() {
    return {{"types", Strings{}, "only modules of these types, such as Linear"},
            {"families", Strings{}, "only modules of these families", family_names()},
            {"include", Strings{}, "only modules of these names, types or families; names and types may be globs"},
            {"exclude", Strings{}, "modules left out, in the same words; wins over all else"},
            {"leaves_only", true, "leave out modules that have children"}};
  }

  explicit ModuleFilter(const Options& options)
      : types_(entries(options, "types")),
        families_(entries(options, "families")),
        include_(entries(options, "include")),
        exclude_(entries(options, "exclude")),
        leaves_only_(options.get<bool>("leaves_only")) {}

  bool takes(const Module& module) {
    if (module.is_loss()) return false;
    const auto of_type = [&](const std::string& text) { return is_type(text, module); };
    const auto of_family = [&](const std::string& text) { return is_family(text, module); };
    const auto named = [&](const std::string& text) {
      return is_name(text, module) || of_type(text) || of_family(text);
    };
    // Each list sees the module, so that an entry is not called unmatched for another list's sake.
    const bool type = matches(types_, of_type), family = matches(families_, of_family);
    const bool included = matches(include_, named), excluded = matches(exclude_, named);
    if (leaves_only_ && !module.is_leaf() && !module.is_functional()) return false;
    return (types_.empty() || type) && (families_.empty() || family) && (include_.empty() || included) && !excluded;
  }

  /// Tells, once, the entries that no module has matched: they are misspelt more often than not.
  void warn_of_unmatched(const Host& host, const std::string& lens) {
    for (auto [option, entries] : {std::pair("types", &types_), std::pair("families", &families_),
                                   std::pair("include", &include_), std::pair("exclude", &exclude_)}) {
      for (Entry& entry : *entries) {
        if (!std::exchange(entry.settled, true)) {
          host.warn(lens + ": no module fits '" + entry.text + "' given in " + option);
        }
      }
    }
  }

 private:
  struct Entry {
    std::string text;
    bool settled = false;  ///< a module has matched it, or it was complained of
  };

  /// In the order of the LOUPE_FAMILY_ constants.
  static const Strings& family_names() {
    static const Strings names = {"other",     "activation", "dropout",   "linear",    "convolution", "normalization",
                                  "recurrent", "pooling",    "embedding", "attention", "loss",        "padding"};
    return names;
  }
  static std::vector<Entry> entries(const Options& options, const char* name) {
    std::vector<Entry> entries;
    for (const std::string& text : options.get<Strings>(name)) entries.push_back({text});
    return entries;
  }
  template <class Fits>
  static bool matches(std::vector<Entry>& entries, Fits&& fits) {
    bool any = false;
    for (Entry& entry : entries) {
      if (!fits(entry.text)) continue;
      entry.settled = true;
      any = true;
    }
    return any;
  }

  static bool is_glob_of(const std::string& glob, const std::string& text) {
    return fnmatch(glob.c_str(), text.c_str(), 0) == 0;
  }
  static bool is_name(const std::string& text, const Module& module) {
    return is_glob_of(text, module.name()) || is_glob_of(text, module.path());
  }
  static bool is_type(const std::string& text, const Module& module) {
    return is_glob_of(text, std::string(module.type())) || is_glob_of(text, std::string(module.full_type()));
  }
  static bool is_family(const std::string& text, const Module& module) {
    return module.family() < family_names().size() && family_names()[module.family()] == text;
  }

  std::vector<Entry> types_, families_, include_, exclude_;
  bool leaves_only_;
};

}  // namespace loupe

#endif
