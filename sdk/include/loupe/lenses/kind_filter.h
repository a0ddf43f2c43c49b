#pragma once

#include <loupe/module_filter.h>

#include <string>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// For a lens without its own selection: a ModuleFilter that takes every module without children by default; `types`,
/// `families` and `leaves_only` narrow it.
class KindFilter {
 public:
  static std::vector<Option> options() {
    return joined_options(
        {{{"types", Strings{}, "only modules of these types, such as Linear, or globs over types"},
          {"families", Strings{}, "only modules of these families", family_names()}},
         ModuleFilter::options(),
         {{"leaves_only", true, "leave out modules that have children, unless include names them in full"}}});
  }

  explicit KindFilter(const Options& options)
      : types_("types", "module's type", options.get<Strings>("types")),
        families_("families", "module's family", options.get<Strings>("families")),
        modules_(options),
        leaves_only_(options.get<bool>("leaves_only")) {}

  /// Call it once for each visited module.
  bool takes(const Module& module) {
    if (module.is_loss()) return false;
    const std::string type(module.type()), full(module.full_type());
    types_.offer(type);
    const bool of_type =
        types_.match([&](const std::string& text) { return fits_glob(text, type) || fits_glob(text, full); });
    const bool of_family = families_.match([&](const std::string& text) { return text == family_name(module); });
    const bool taken = modules_.takes(module, is_leaf(module) || !leaves_only_);
    const bool fits = taken && (types_.empty() || of_type) && (families_.empty() || of_family);
    has_taken_ = has_taken_ || fits;
    return fits;
  }
  /// As ModuleFilter's.
  bool has_taken() const { return has_taken_; }

  /// As ModuleFilter's.
  void warn(const Host& host, bool watches) {
    const bool wrong_type = types_.warn(host), wrong_family = families_.warn(host);
    modules_.warn(host, watches || wrong_type || wrong_family);
  }

 private:
  WantedNames types_, families_;
  ModuleFilter modules_;
  bool leaves_only_, has_taken_ = false;
};

}  // namespace v1_0
}  // namespace loupe
