#pragma once

#include <link.h>
#include <loupe/abi.h>
#include <loupe/files/descriptor.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "loader/kind.h"

namespace loupe {

/// A file that may be a plugin, open for reading. Never waits: refuses anything but a regular file (a pipe, a device, a
/// folder), and a file that other users may change.
class PluginFile {
 public:
  /// Throws Error naming the file, what is wrong and what to do.
  explicit PluginFile(std::string path);

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Throws Error if the file has fewer than `size` bytes from `offset` on.
  void need(std::uint64_t offset, std::uint64_t size) const;
  /// Returns `size` bytes from `offset` on, which the file must have.
  std::vector<char> read(std::uint64_t offset, std::uint64_t size) const;

 private:
  std::string path_;
  std::optional<Descriptor> file_;
  std::uint64_t size_ = 0;
};

/// A plugin has all rights of the trainer, so only users who control the trainer anyway may be able to change it: root,
/// this process's user, and users who can change the running program or Loupe. Returns why the file or folder is not
/// trusted, with the remedy; empty if it is.
std::string trust_fault(const std::string& path, const struct ::stat& status);

/// The same by path; a missing folder has no fault.
std::string trust_fault(const std::string& path);

/// The tables of a shared library, read without running any of it. Their content is not checked further.
struct ElfFile {
  /// Throws Error if the file is not a shared library, or is shorter than its tables and segments: a mapped file that
  /// is cut short would kill the process.
  explicit ElfFile(const PluginFile& file);

  /// The first section of that type; null if none.
  const ElfW(Shdr) * section_of_type(ElfW(Word) type) const;
  std::vector<const ElfW(Shdr) *> sections_named(const char* name) const;
  /// The segment that has a range of memory, with its whole size also in the file; null if none.
  const ElfW(Phdr) * segment_of(ElfW(Addr) address, ElfW(Xword) size) const;
  /// The file's content for a range of memory, which must lie in a segment and in the file.
  template <class T>
  std::vector<T> table_at(ElfW(Addr) address, ElfW(Xword) size) const {
    const ElfW(Phdr)& segment = *segment_of(address, size);
    return table<T>(segment.p_offset + (address - segment.p_vaddr), size / sizeof(T));
  }

  const PluginFile& file;
  ElfW(Ehdr) header{};
  std::vector<ElfW(Phdr)> segments;
  std::vector<ElfW(Shdr)> sections;  ///< may be empty: a file works without sections
  std::vector<char> section_names;   ///< ends in 0

  /// Throws the Error of a file whose bytes were changed: "the plugin 'x.so' is damaged: `what`; …".
  [[noreturn]] void fail(const std::string& what) const;

 private:
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

struct ExportedSymbol {
  std::string name;
  ElfW(Sym) entry;
};

/// The symbols that a file defines for others; none if it has no readable table of them.
std::vector<ExportedSymbol> exported_symbols(const ElfFile& elf);

/// One component in a plugin's note.
struct NamedComponent {
  Kind kind;
  std::string name;
  bool has_aliases = false;
};

/// The components of a plugin, read from its file without loading it.
struct ComponentIndex {
  bool noted = false;  ///< false: there is no note, and only loading shows its components
  std::vector<NamedComponent> components;

  bool names(Kind kind, const std::string& name) const;
  /// Whether a component of that kind has aliases, which notes do not list.
  bool has_aliases(Kind kind) const;
};

/// Reads the note of loupe/abi/entry.h; one of another version counts as none. Throws Error if the file or the note is
/// cut short, and if there are several notes, or the note is too large or malformed.
ComponentIndex read_index(const ElfFile& elf);

/// The mark and the versions of the entry that the file exports, without its function. Nullopt if the file does not
/// contain them: then only loading shows them.
std::optional<loupe_entry> read_exported_entry(const ElfFile& elf);

}  // namespace loupe
