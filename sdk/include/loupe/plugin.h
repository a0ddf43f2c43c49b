#pragma once

// The header that a plugin's source includes. A component is a class with
//   static constexpr const char* name = "snake_case";   // as YAML names it
//   static constexpr const char* help = "one line";
//   explicit T(const loupe::Options&);                  // or T(const loupe::Options&, const loupe::Host&)
// derived from loupe::Gatherer, Preprocessor, Lens or Visualizer; optionally
//   static std::vector<loupe::Option> options();
//   static std::vector<const char*> aliases();
//   static std::vector<const char*> gives();            // for `loupe describe`: "series: one line", "Tag: one line"
//   static constexpr const char* example = "…";         // the same: a line of YAML to copy
// and the plugin is closed by one line: LOUPE_PLUGIN("name", "version", FirstComponent, SecondComponent)

#include <loupe/detail/component.h>
#include <loupe/detail/elements.h>
#include <loupe/detail/lines.h>
#include <loupe/gatherer.h>
#include <loupe/host.h>
#include <loupe/layer_lens.h>
#include <loupe/lens.h>
#include <loupe/preprocessor.h>
#include <loupe/rule.h>
#include <loupe/visualizer.h>

/// Exports the plugin's one symbol, and writes the components' names into the file's note. Use it once in a plugin, at
/// namespace scope.
#define LOUPE_PLUGIN(NAME, VERSION, ...) LOUPE_PLUGIN_WITH((::loupe::PluginInfo{NAME, VERSION}), __VA_ARGS__)

/// The same with more data about the plugin: INFO is a loupe::PluginInfo in parentheses.
#define LOUPE_PLUGIN_WITH(INFO, ...)                                                                             \
  LOUPE_PLUGIN_NOTE(__VA_ARGS__);                                                                                \
  extern "C" {                                                                                                   \
  static const void* loupe_get_extension_(const char* id) {                                                      \
    static constexpr ::loupe::PluginInfo loupe_info_ = INFO;                                                     \
    return ::loupe::detail::plugin_interface<__VA_ARGS__>(id, loupe_info_);                                      \
  }                                                                                                              \
  extern LOUPE_EXPORT const loupe_entry loupe_plugin_entry;                                                      \
  const loupe_entry loupe_plugin_entry = {LOUPE_MAGIC, LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR, &loupe_get_extension_}; \
  }                                                                                                              \
  static_assert(true, "so that a semicolon may follow")

/// For components that are linked into the trainer itself: defines the entry `IDENTIFIER`, for loupe::register_plugin.
/// It belongs to its source alone, unless a header that is included before declares `extern const loupe_entry
/// IDENTIFIER;`.
#define LOUPE_STATIC_PLUGIN(IDENTIFIER, NAME, VERSION, ...)                                        \
  static const void* IDENTIFIER##_get_extension_(const char* id) {                                 \
    return ::loupe::detail::plugin_interface<__VA_ARGS__>(id, ::loupe::PluginInfo{NAME, VERSION}); \
  }                                                                                                \
  const loupe_entry IDENTIFIER = {LOUPE_MAGIC, LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR, &IDENTIFIER##_get_extension_}
