#ifndef LOUPE_TORCH_REDIRECT_SLOTS_H
#define LOUPE_TORCH_REDIRECT_SLOTS_H

#include <link.h>

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace loupe {

/// One pointer that a loaded program or library calls a function through.
struct Slot {
  void** address;
  bool in_libtorch;  ///< one of LibTorch's own libraries calls through it
};

/// Every slot through which loaded objects call the symbols named, by symbol. Only for ELF on x86-64 and AArch64; empty
/// elsewhere. This library's own slots are left out.
/// @param libtorch  addresses of functions or data that LibTorch's libraries hold: the objects that hold them are
///   LibTorch's, whatever the path they were loaded from
std::unordered_map<std::string, std::vector<Slot>> find_slots(const std::vector<std::string>& symbols,
                                                              const std::vector<const void*>& libtorch);

/// How often libraries were loaded and unloaded so far: when it changes, slots have to be looked for again.
unsigned long long library_changes();

/// Writes pointers into memory that may be read-only, and gives the pages back the protection they had. Collect the
/// writes of one occasion: each takes system calls.
class PointerWriter {
 public:
  PointerWriter();
  /// False where the memory cannot be written: the system refuses, or its library was unloaded.
  bool write(void** address, void* value);
  /// Whether the pointer there is `value`; false where its library was unloaded.
  bool holds(void* const* address, const void* value) const;

 private:
  struct Mapping {
    std::size_t begin, end;
    int protection;
  };
  static int add_segments(dl_phdr_info* object, std::size_t, void* self);
  const Mapping* mapping_of(void* const* address) const;
  std::vector<Mapping> mappings_;
};

}  // namespace loupe

#endif
