#pragma once

#include <link.h>

#include <cstring>
#include <string>
#include <vector>

#include "loader/plugin_file.h"

namespace loupe {

/// The tables of a shared library, read from its file without running any of it. What they say is not checked further.
struct ElfFile {
  /// Throws Error where the file is no shared library, or shorter than its tables and segments: the linker would map
  /// one that was cut short, and what is missing would kill the process.
  explicit ElfFile(const PluginFile& file);

  /// The first section of that type, or name; null where there is none.
  const ElfW(Shdr) * section_of_type(ElfW(Word) type) const;
  const ElfW(Shdr) * section_named(const char* name) const;
  /// The segment that a range of memory lies in, with its whole size also in the file; null where none.
  const ElfW(Phdr) * segment_of(ElfW(Addr) address, ElfW(Xword) size) const;
  /// What the file has for a range of memory, which must lie in a segment and in the file.
  template <class T>
  std::vector<T> table_at(ElfW(Addr) address, ElfW(Xword) size) const {
    const ElfW(Phdr)& segment = *segment_of(address, size);
    return table<T>(segment.p_offset + (address - segment.p_vaddr), size / sizeof(T));
  }

  const PluginFile& file;
  ElfW(Ehdr) header{};
  std::vector<ElfW(Phdr)> segments;
  std::vector<ElfW(Shdr)> sections;  ///< may be none: a file works without
  std::vector<char> section_names;   ///< ends in 0

 private:
  /// Throws the Error of a file whose bytes were changed: "the plugin 'x.so' is damaged: `what`; …".
  [[noreturn]] void fail(const std::string& what) const;
  template <class T>
  std::vector<T> table(ElfW(Off) offset, std::size_t count) const {
    const std::vector<char> bytes = file.read(offset, count * sizeof(T));
    std::vector<T> entries(count);
    if (count > 0) std::memcpy(entries.data(), bytes.data(), bytes.size());
    return entries;
  }
  void read_segments();
  void read_sections();
};

}  // namespace loupe
