#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loader/elf_file.h"
#include "loader/kind.h"

namespace loupe {

/// What a plugin's note says of one component.
struct NamedComponent {
  Kind kind;
  std::string name;
  bool has_aliases = false;
};

/// What a plugin's file says it brings, read without opening it as a library.
struct ComponentIndex {
  bool noted = false;  ///< false: the file says nothing, and only opening it shows what it has
  std::vector<NamedComponent> components;

  bool names(Kind kind, const std::string& name) const;
  /// Whether a component of that kind goes by other names too, which no note tells.
  bool has_aliases(Kind kind) const;
};

/// Reads the note of loupe/abi/entry.h. One that is not as it should be counts as none. Throws Error where the file is
/// cut short.
ComponentIndex read_index(const ElfFile& elf);

}  // namespace loupe
