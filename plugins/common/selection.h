#ifndef LOUPE_PLUGINS_COMMON_SELECTION_H
#define LOUPE_PLUGINS_COMMON_SELECTION_H

#include <fnmatch.h>
#include <loupe/plugin.h>

#include <string>
#include <string_view>
#include <vector>

namespace loupe {

inline bool is_activation(const Module& module) {
  return module.family() == LOUPE_FAMILY_ACTIVATION ||
         (module.is_functional() && module.family() == LOUPE_FAMILY_OTHER);
}
inline bool is_dropout(const Module& module) {
  return module.family() == LOUPE_FAMILY_DROPOUT;
}

/// A module without children, one cut by depth, or a function: what output lenses take by default.
inline bool is_leaf(const Module& module) {
  return (module.is_leaf() || module.is_functional()) && !module.is_loss();
}

/// Which modules the options `include` and `exclude` name. An entry is a module's type ("Linear",
/// "torch::nn::LinearImpl") or name, and then takes it wherever it is; or a family ("activation") or a glob over names
/// ("encoder.*"), which take leaves.
class Selection {
 public:
  static std::vector<Option> options() {
    return {{"include", Strings{}, "more modules: types, families such as linear, or globs over names"},
            {"exclude", Strings{}, "modules left out, in the same words; wins over include"}};
  }

  explicit Selection(const Options& options)
      : include_(entries(options.get<Strings>("include"))), exclude_(entries(options.get<Strings>("exclude"))) {}

  /// @param by_default whether the lens would take the module by itself
  bool takes(const Module& module, bool by_default) {
    if (module.is_loss()) return false;
    const bool included = matches(include_, module);
    return !matches(exclude_, module) && (included || (by_default && is_leaf(module)));
  }

  /// Whether `exclude` names the module: for what a lens takes by other rules than takes().
  bool excludes(const Module& module) { return matches(exclude_, module); }

  /// Tells, once, the entries that no module has matched: they are misspelt more often than not.
  void warn_of_unmatched(const Host& host, const char* lens) {
    warn_of_unmatched(host, lens, "include", include_);
    warn_of_unmatched(host, lens, "exclude", exclude_);
  }

 private:
  struct Entry {
    std::string text;
    bool matched = false;
    bool told = false;
  };

  static std::vector<Entry> entries(const Strings& texts) {
    std::vector<Entry> entries;
    for (const std::string& text : texts) entries.push_back({text});
    return entries;
  }

  static bool matches(std::vector<Entry>& entries, const Module& module) {
    bool any = false;
    for (Entry& entry : entries) {
      if (!matches(entry.text, module)) continue;
      entry.matched = true;
      any = true;
    }
    return any;
  }
  static bool matches(const std::string& text, const Module& module) {
    if (text == module.type() || text == module.full_type() || text == module.name() || text == module.path()) {
      return true;
    }
    return is_leaf(module) && (is_family(text, module.family()) || fnmatch(text.c_str(), module.name(), 0) == 0 ||
                               fnmatch(text.c_str(), module.path(), 0) == 0);
  }
  static bool is_family(std::string_view text, uint32_t family) {
    switch (family) {
      case LOUPE_FAMILY_ACTIVATION:
        return text == "activation";
      case LOUPE_FAMILY_DROPOUT:
        return text == "dropout";
      case LOUPE_FAMILY_LINEAR:
        return text == "linear";
      case LOUPE_FAMILY_CONVOLUTION:
        return text == "convolution";
      case LOUPE_FAMILY_NORMALIZATION:
        return text == "normalization";
      case LOUPE_FAMILY_RECURRENT:
        return text == "recurrent";
      case LOUPE_FAMILY_POOLING:
        return text == "pooling";
      case LOUPE_FAMILY_EMBEDDING:
        return text == "embedding";
      case LOUPE_FAMILY_ATTENTION:
        return text == "attention";
      case LOUPE_FAMILY_PADDING:
        return text == "padding";
      default:
        return text == "other";
    }
  }

  static void warn_of_unmatched(const Host& host, const char* lens, const char* option, std::vector<Entry>& entries) {
    for (Entry& entry : entries) {
      if (entry.matched || entry.told) continue;
      entry.told = true;
      host.warn(std::string(lens) + ": no module has the type, family or name '" + entry.text + "' given in " + option);
    }
  }

  std::vector<Entry> include_, exclude_;
};

}  // namespace loupe

#endif
