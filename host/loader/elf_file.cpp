#include "loader/elf_file.h"

#include <loupe/error.h>

#include <elf.h>

#include <algorithm>

namespace loupe {
namespace {

constexpr unsigned char own_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr unsigned char own_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
// The linker puts the table on its stack. No tool makes more than some tens.
constexpr int max_segments = 128;

}  // namespace

ElfFile::ElfFile(const PluginFile& library) : file(library) {
  const bool begins_so = file.size() >= sizeof header && [&] {
    header = table<ElfW(Ehdr)>(0, 1)[0];
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == own_class &&
           header.e_ident[EI_DATA] == own_order && header.e_type == ET_DYN;
  }();
  if (!begins_so) {
    throw Error("the plugin '" + file.path() +
                "' cannot be loaded: it does not begin as a shared library does; check that it is a shared library for "
                "this system");
  }
  read_segments();
  read_sections();
}

void ElfFile::fail(const std::string& what) const {
  throw Error("the plugin '" + file.path() + "' is damaged: " + what + "; copy or build it again");
}

void ElfFile::read_segments() {
  const bool right = header.e_version == EV_CURRENT && header.e_ehsize == sizeof header &&
                     header.e_phentsize == sizeof(ElfW(Phdr)) && header.e_phoff % alignof(ElfW(Phdr)) == 0 &&
                     header.e_phoff >= sizeof header && header.e_phnum > 0 && header.e_phnum <= max_segments;
  if (!right) fail("its header is not one that linkers write");
  segments = table<ElfW(Phdr)>(header.e_phoff, header.e_phnum);
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type == PT_LOAD) file.need(segment.p_offset, segment.p_filesz);
  }
}

void ElfFile::read_sections() {
  const bool none = header.e_shoff == 0 && header.e_shnum == 0 && header.e_shstrndx == SHN_UNDEF;
  if (none) return;
  const bool right = header.e_shentsize == sizeof(ElfW(Shdr)) && header.e_shoff % alignof(ElfW(Shdr)) == 0 &&
                     header.e_shnum > 0 && header.e_shstrndx < header.e_shnum;
  if (!right) fail("its header misstates the table of sections");
  sections = table<ElfW(Shdr)>(header.e_shoff, header.e_shnum);
  const ElfW(Shdr)& names = sections[header.e_shstrndx];
  if (sections[0].sh_type != SHT_NULL || names.sh_type != SHT_STRTAB || names.sh_size == 0)
    fail("its header misstates the table of sections");
  section_names = file.read(names.sh_offset, names.sh_size);
  if (section_names.back() != '\0') fail("the names of its sections have no end");
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_name >= section_names.size()) fail("a section's name is nowhere");
  }
}

const ElfW(Shdr) * ElfFile::section_of_type(ElfW(Word) type) const {
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_type == type) return &section;
  }
  return nullptr;
}

const ElfW(Shdr) * ElfFile::section_named(const char* name) const {
  for (const ElfW(Shdr) & section : sections) {
    if (std::strcmp(section_names.data() + section.sh_name, name) == 0) return &section;
  }
  return nullptr;
}

const ElfW(Phdr) * ElfFile::segment_of(ElfW(Addr) address, ElfW(Xword) size) const {
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const ElfW(Xword) before = address - segment.p_vaddr;
    if (before <= segment.p_filesz && size <= segment.p_filesz - before) return &segment;
  }
  return nullptr;
}

}  // namespace loupe
