#pragma once

#include <loupe/event.h>
#include <loupe/options.h>

namespace loupe {
inline namespace v1_0 {

/// The names that YAML uses for families of modules, in the order of the LOUPE_FAMILY_ constants.
inline const Strings& family_names() {
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
/// A module without children, one cut by depth, or a function; no loss. What lenses of outputs take by default.
inline bool is_leaf(const Module& module) {
  return (module.is_leaf() || module.is_functional()) && !module.is_loss();
}

}  // namespace v1_0
}  // namespace loupe
