#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace loupe {

/// One pointer that a loaded program or library calls a function through.
struct Slot {
  void** address;
  bool in_libtorch;  ///< one of LibTorch's own libraries calls through it
};

/// The addresses of objects that were searched for slots.
using SearchedObjects = std::unordered_set<std::uintptr_t>;

/// Every slot through which loaded objects call the given symbols, by symbol. Only for ELF on x86-64 and AArch64; empty
/// elsewhere. Loupe's own slots are left out.
/// @param libtorch  addresses of functions or data in LibTorch's libraries: they identify these libraries, loaded from
/// any path
/// @param searched  objects to skip; those searched now are added; may be null
std::unordered_map<std::string, std::vector<Slot>> find_slots(const std::vector<std::string>& symbols,
                                                              const std::vector<const void*>& libtorch,
                                                              SearchedObjects* searched = nullptr);

/// The load address of the object that contains this address; null if there is none.
const void* base_of(const void* address);
/// The same for the program.
const void* base_of_program();

/// How often libraries were loaded and unloaded so far: after a change, slots must be searched again.
struct LibraryChanges {
  unsigned long long loaded = 0, unloaded = 0;
  bool operator==(const LibraryChanges& other) const { return loaded == other.loaded && unloaded == other.unloaded; }
};
LibraryChanges library_changes();

/// Writes pointers into memory that may be read-only, and restores the protection of the pages. Use one object for many
/// writes: the first one reads the protection of all memory, which takes milliseconds.
class PointerWriter {
 public:
  PointerWriter();
  /// False if the memory cannot be written: the system refuses, or its library was unloaded.
  bool write(void** address, void* value);
  /// Whether the pointer there is `value`; false if its library was unloaded.
  bool holds(void* const* address, const void* value);

 private:
  struct Mapping {
    std::size_t begin, end;
    int protection;
  };
  static int add_segments(dl_phdr_info* object, std::size_t, void* self);
  void read_mappings();
  const Mapping* mapping_of(void* const* address);
  std::vector<Mapping> mappings_;
};

}  // namespace loupe
