#pragma once

namespace loupe {

/// The libraries that a file itself needs.
struct NeededLibraries {
  static constexpr int most = 64, longest = 128;
  char names[most][longest];
  int count = 0;
  char libtorch[longest] = "";  ///< the version that a Loupe was built with, if known
  bool is_dynamic = false;      ///< it is loaded by a dynamic loader, so that libraries can be preloaded
  bool is_other_class = false;  ///< its word size or processor differs from this code's
};

/// Reads an ELF file without running any of it, with only C's library. False for other files and unreadable ones.
bool read_needed_libraries(const char* path, NeededLibraries& needed);

/// Whether a file whose name ends with `name` is mapped into this process, also by dlmopen into a separate namespace,
/// which the loader does not list.
bool is_mapped(const char* name);

}  // namespace loupe
