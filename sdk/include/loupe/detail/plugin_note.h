#pragma once

// The note of loupe/abi/entry.h, made of a plugin's classes.

#include <loupe/abi.h>
#include <loupe/detail/component.h>

#include <cstddef>
#include <cstdint>

namespace loupe {
inline namespace v1_0 {
namespace detail {

constexpr std::size_t length_of(const char* text) {
  std::size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

/// A component's line, without its end.
template <class T>
struct NoteLine {
  static constexpr const char* kind = std::is_base_of_v<Gatherer, T>       ? LOUPE_GATHERER_ID
                                      : std::is_base_of_v<Preprocessor, T> ? LOUPE_PREPROCESSOR_ID
                                      : std::is_base_of_v<Lens, T>         ? LOUPE_LENS_ID
                                                                           : LOUPE_VISUALIZER_ID;
  static constexpr const char* ending = HasAliases<T>::value ? " +" : "";
  static constexpr std::size_t length = length_of(kind) + 1 + length_of(T::name) + length_of(ending) + 1;
};

template <class... Components>
struct PluginNote {
  static constexpr uint32_t text_size = (NoteLine<Components>::length + ... + 1);
  loupe_elf_note head = {sizeof LOUPE_ELF_NAME, text_size, LOUPE_ELF_VERSION, LOUPE_ELF_NAME};
  char text[(text_size + 3) / 4 * 4] = {};

  constexpr PluginNote() {
    std::size_t at = 0;
    (add_line<NoteLine<Components>>(Components::name, at), ...);
  }

 private:
  constexpr void add(const char* part, std::size_t& at) {
    while (*part != '\0') text[at++] = *part++;
  }
  template <class Line>
  constexpr void add_line(const char* component, std::size_t& at) {
    add(Line::kind, at);
    add(" ", at);
    add(component, at);
    add(Line::ending, at);
    add("\n", at);
  }
};

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe

/// Puts the note into the plugin; a part of LOUPE_PLUGIN.
#define LOUPE_PLUGIN_NOTE(...)                                                          \
  __attribute__((section(LOUPE_ELF_SECTION), used,                                      \
                 aligned(4))) static constexpr ::loupe::detail::PluginNote<__VA_ARGS__> \
      loupe_plugin_note_ {}
