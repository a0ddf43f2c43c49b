#pragma once

#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace loupe {

/// Whether the address lies in the loaded object.
inline bool holds(const dl_phdr_info& object, ElfW(Addr) address) {
  return std::any_of(object.dlpi_phdr, object.dlpi_phdr + object.dlpi_phnum, [&](const ElfW(Phdr) & part) {
    return part.p_type == PT_LOAD && address - object.dlpi_addr - part.p_vaddr < part.p_memsz;
  });
}

/// The parts of a loaded object's dynamic section that lead to its symbols and relocations; null for what it lacks.
struct DynamicSection {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const ElfW(Rela) * tables[2] = {nullptr, nullptr};
  std::size_t counts[2] = {0, 0};
  std::size_t relative_count = 0;  ///< relocations without a symbol at the beginning of the second table
  std::size_t own_name = 0;        ///< offset of the library's name (DT_SONAME) in the strings; 0 for none

  explicit DynamicSection(const dl_phdr_info& info) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
      const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
      for (; entry->d_tag != DT_NULL; ++entry) read(*entry, info.dlpi_addr);
    }
  }

 private:
  void read(const ElfW(Dyn) & entry, ElfW(Addr) base) {
    // glibc relocates these addresses in place; other loaders (and the vdso) leave them relative.
    const ElfW(Addr) address = entry.d_un.d_ptr < base ? entry.d_un.d_ptr + base : entry.d_un.d_ptr;
    switch (entry.d_tag) {
      case DT_SYMTAB:
        symbols = reinterpret_cast<const ElfW(Sym)*>(address);
        break;
      case DT_STRTAB:
        strings = reinterpret_cast<const char*>(address);
        break;
      case DT_GNU_HASH:
        gnu_hash = reinterpret_cast<const std::uint32_t*>(address);
        break;
      case DT_JMPREL:
        tables[0] = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_PLTRELSZ:
        counts[0] = entry.d_un.d_val / sizeof(ElfW(Rela));
        break;
      case DT_RELA:
        tables[1] = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_RELASZ:
        counts[1] = entry.d_un.d_val / sizeof(ElfW(Rela));
        break;
      case DT_RELACOUNT:
        relative_count = entry.d_un.d_val;
        break;
      case DT_SONAME:
        own_name = entry.d_un.d_val;
        break;
      default:
        break;
    }
  }
};

}  // namespace loupe
