#ifndef LOUPE_PLUGIN_H
#define LOUPE_PLUGIN_H

// What a plugin's source includes. A component is a class with
//   static constexpr const char* name = "snake_case";   // as YAML names it
//   static constexpr const char* help = "one line";
//   static std::vector<loupe::Option> options();
//   explicit T(const loupe::Options&);                  // or T(const loupe::Options&, const loupe::Host&)
// derived from loupe::Gatherer, Preprocessor, Lens or Visualizer; optionally
//   static std::vector<const char*> aliases();
// and the plugin is closed by one line: LOUPE_PLUGIN("name", "version", FirstComponent, SecondComponent)

#include <loupe/detail/component.h>
#include <loupe/gatherer.h>
#include <loupe/host.h>
#include <loupe/lens.h>
#include <loupe/lines.h>
#include <loupe/preprocessor.h>
#include <loupe/visualizer.h>

/// Exports the plugin's one symbol. At namespace scope, once a plugin.
#define LOUPE_PLUGIN(NAME, VERSION, ...)                                                                         \
  extern "C" {                                                                                                   \
  static const void* loupe_get_interface_(const char* id) {                                                      \
    return ::loupe::detail::plugin_interface<__VA_ARGS__>(id, NAME, VERSION);                                    \
  }                                                                                                              \
  extern LOUPE_EXPORT const loupe_entry loupe_plugin_entry;                                                      \
  const loupe_entry loupe_plugin_entry = {LOUPE_MAGIC, LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR, &loupe_get_interface_}; \
  }                                                                                                              \
  static_assert(true, "so that a semicolon may follow")

#endif
