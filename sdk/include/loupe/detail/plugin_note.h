#ifndef LOUPE_DETAIL_PLUGIN_NOTE_H
#define LOUPE_DETAIL_PLUGIN_NOTE_H

// An ELF note that names a plugin's components, so that the host opens only the plugins that it needs. The section is
// ".note.loupe", the note's name "Loupe", its type 1. After the two words of the ABI come lines, one a component:
//   loupe.lens/1 dead_units
// ending in " +" where the component has aliases, which stand in no note. A plugin without this note works too; it is
// opened where a name is found nowhere else.

#include <loupe/abi.h>
#include <loupe/detail/component.h>

#include <cstddef>
#include <cstdint>

#define LOUPE_NOTE_SECTION ".note.loupe"
#define LOUPE_NOTE_NAME "Loupe"
#define LOUPE_NOTE_TYPE 1

namespace loupe {
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

/// The note as it lies in the file: sizes in its first words, everything in whole words.
template <class... Components>
struct PluginNote {
  static constexpr std::size_t text_length = (NoteLine<Components>::length + ... + 0);
  uint32_t name_size = sizeof(LOUPE_NOTE_NAME);
  uint32_t description_size = 2 * sizeof(uint32_t) + text_length;
  uint32_t type = LOUPE_NOTE_TYPE;
  char name[8] = LOUPE_NOTE_NAME;
  uint32_t abi_major = LOUPE_ABI_MAJOR;
  uint32_t abi_minor = LOUPE_ABI_MINOR;
  char text[(text_length + 3) / 4 * 4] = {};

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
}  // namespace loupe

/// Puts the note into the plugin; a part of LOUPE_PLUGIN.
#define LOUPE_PLUGIN_NOTE(...)                                                          \
  __attribute__((section(LOUPE_NOTE_SECTION), used,                                     \
                 aligned(4))) static constexpr ::loupe::detail::PluginNote<__VA_ARGS__> \
      loupe_plugin_note_ {}

#endif
