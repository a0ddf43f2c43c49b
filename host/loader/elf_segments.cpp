// Segments: what the linker maps, and the parts of it that headers of their own point at.

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>

#include "loader/elf_file.h"

namespace loupe {
namespace {

constexpr ElfW(Xword) largest_alignment = 1 << 30;
constexpr ElfW(Xword) largest_memory = ElfW(Xword){1} << 36;

bool is_power_of_two(ElfW(Xword) number) {
  return number != 0 && (number & (number - 1)) == 0;
}

/// The whole pages that the memory up to `address` ends in.
ElfW(Addr) page_after(ElfW(Addr) address) {
  const auto page = static_cast<ElfW(Addr)>(::sysconf(_SC_PAGESIZE));
  return (address + page - 1) / page * page;
}
ElfW(Addr) page_before(ElfW(Addr) address) {
  const auto page = static_cast<ElfW(Addr)>(::sysconf(_SC_PAGESIZE));
  return address / page * page;
}

void check_loaded(const ElfFile& elf) {
  ElfW(Addr) end = 0;
  bool first = true;
  for (const ElfW(Phdr) & segment : elf.segments) {
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_offset > elf.file.size() || segment.p_filesz > elf.file.size() - segment.p_offset)
      elf.file.read(segment.p_offset, segment.p_filesz);  // throws what is said of a file that is cut short
    const bool right = segment.p_filesz <= segment.p_memsz && segment.p_memsz <= largest_memory &&
                       segment.p_vaddr <= largest_memory && is_power_of_two(segment.p_align) &&
                       segment.p_align <= largest_alignment &&
                       segment.p_vaddr % segment.p_align == segment.p_offset % segment.p_align &&
                       (segment.p_flags & (PF_R | PF_X)) != 0 && (first || page_before(segment.p_vaddr) >= end);
    if (!right) elf.fail("a segment does not fit the file, or another segment");
    end = page_after(segment.p_vaddr + segment.p_memsz);
    first = false;
  }
  if (first) elf.fail("it has no segments to load");
}

/// Sections say once more where everything lies, what may be written and what runs.
void check_against_sections(const ElfFile& elf) {
  for (const ElfW(Shdr) & section : elf.sections) {
    const bool occupies_memory = (section.sh_flags & SHF_ALLOC) != 0 && section.sh_size > 0 &&
                                 !((section.sh_flags & SHF_TLS) != 0 && section.sh_type == SHT_NOBITS);
    if (!occupies_memory) continue;
    const bool in_file = section.sh_type != SHT_NOBITS;
    const ElfW(Phdr)* segment = elf.segment_of(section.sh_addr, section.sh_size, in_file);
    const bool right = segment != nullptr &&
                       (!in_file || section.sh_addr - segment->p_vaddr == section.sh_offset - segment->p_offset) &&
                       ((section.sh_flags & SHF_WRITE) == 0 || (segment->p_flags & PF_W) != 0) &&
                       ((section.sh_flags & SHF_EXECINSTR) == 0 || (segment->p_flags & PF_X) != 0) &&
                       (segment->p_flags & (PF_R | PF_X)) != 0 &&
                       ((section.sh_flags & SHF_EXECINSTR) != 0 || (segment->p_flags & PF_R) != 0);
    if (!right) elf.fail("its segments and sections contradict each other");
  }
}

/// A part of a segment that the linker or the unwinder of exceptions reads.
void check_part(const ElfFile& elf, const ElfW(Phdr) & part) {
  const ElfW(Phdr)* segment = elf.segment_of(part.p_vaddr, part.p_filesz);
  const bool right = segment != nullptr && (segment->p_flags & PF_R) != 0 &&
                     part.p_vaddr - segment->p_vaddr == part.p_offset - segment->p_offset;
  if (!right) elf.fail("a part that its header names lies in no segment");
  const auto begins = [&](const ElfW(Shdr) & section) {
    return (section.sh_flags & SHF_ALLOC) != 0 && section.sh_addr == part.p_vaddr && section.sh_offset == part.p_offset;
  };
  if (!elf.sections.empty() && std::none_of(elf.sections.begin(), elf.sections.end(), begins))
    elf.fail("a part that its header names is no section");
}

void check_thread_local(const ElfFile& elf, const ElfW(Phdr) * part) {
  if (part != nullptr) {
    const bool right = part->p_filesz <= part->p_memsz && part->p_memsz <= largest_alignment &&
                       part->p_align <= largest_alignment && (part->p_align == 0 || is_power_of_two(part->p_align)) &&
                       elf.segment_of(part->p_vaddr, part->p_filesz) != nullptr;
    if (!right) elf.fail("its thread-local variables lie in no segment");
  }
  for (const ElfW(Shdr) & section : elf.sections) {
    if ((section.sh_flags & SHF_TLS) == 0 || section.sh_size == 0) continue;
    const bool held =
        part != nullptr && section.sh_addr >= part->p_vaddr &&
        section.sh_addr - part->p_vaddr + section.sh_size <= part->p_memsz &&
        (section.sh_type == SHT_NOBITS || section.sh_addr - part->p_vaddr + section.sh_size <= part->p_filesz);
    if (!held) elf.fail("its thread-local variables are misstated");
  }
}

/// What can be written no more once the file is loaded. Where it covers variables, the first that changes would kill.
void check_read_only_part(const ElfFile& elf, const ElfW(Phdr) & part) {
  const ElfW(Phdr)* segment = elf.segment_of(part.p_vaddr, 0, false);
  const bool right = segment != nullptr && (segment->p_flags & PF_W) != 0 && part.p_memsz <= largest_memory &&
                     part.p_vaddr + part.p_memsz <= page_after(segment->p_vaddr + segment->p_memsz);
  if (!right) elf.fail("the part to be made read-only lies in no segment");
  for (const char* name : {".data", ".bss"}) {
    const ElfW(Shdr)* section = elf.section_named(name);
    if (section == nullptr || section->sh_size == 0) continue;
    if (section->sh_addr < page_before(part.p_vaddr + part.p_memsz) &&
        page_before(part.p_vaddr) < section->sh_addr + section->sh_size)
      elf.fail("the part to be made read-only covers variables");
  }
}

void check_own_table(const ElfFile& elf, const ElfW(Phdr) & part) {
  const bool right = part.p_offset == elf.header.e_phoff && part.p_filesz == elf.segments.size() * sizeof(ElfW(Phdr)) &&
                     elf.segment_of(part.p_vaddr, part.p_filesz) != nullptr;
  if (!right) elf.fail("its header misstates the table of segments");
}

}  // namespace

void check_segments(const ElfFile& elf) {
  check_loaded(elf);
  check_against_sections(elf);
  int dynamic_parts = 0;
  const ElfW(Phdr)* thread_local_part = nullptr;
  bool unwinds = false;
  for (const ElfW(Phdr) & segment : elf.segments) {
    switch (segment.p_type) {
      case PT_DYNAMIC: {
        const ElfW(Shdr)* section = elf.section_of_type(SHT_DYNAMIC);
        const bool right =
            ++dynamic_parts == 1 && segment.p_filesz == segment.p_memsz && segment.p_vaddr % alignof(ElfW(Dyn)) == 0 &&
            (elf.sections.empty() ||
             (section != nullptr && section->sh_addr == segment.p_vaddr && section->sh_size == segment.p_filesz &&
              ((section->sh_flags & SHF_WRITE) != 0) == ((segment.p_flags & PF_W) != 0)));
        if (!right) elf.fail("its dynamic section is misstated");
        check_part(elf, segment);
        break;
      }
      case PT_TLS:
        if (thread_local_part != nullptr) elf.fail("its thread-local variables are stated twice");
        thread_local_part = &segment;
        break;
      case PT_GNU_EH_FRAME: {
        const ElfW(Shdr)* section = elf.section_named(".eh_frame_hdr");
        if (section != nullptr && (section->sh_addr != segment.p_vaddr || section->sh_size != segment.p_filesz))
          elf.fail("how it handles exceptions is misstated");
        check_part(elf, segment);
        unwinds = true;
        break;
      }
      case PT_NOTE:
      case PT_GNU_PROPERTY:
        if (segment.p_filesz != segment.p_memsz) elf.fail("its notes are misstated");
        check_part(elf, segment);
        break;
      case PT_GNU_RELRO:
        check_read_only_part(elf, segment);
        break;
      case PT_PHDR:
        check_own_table(elf, segment);
        break;
      default:
        break;  // the linker and the unwinder look at no others
    }
  }
  check_thread_local(elf, thread_local_part);
  if (!unwinds && elf.section_named(".eh_frame_hdr") != nullptr) elf.fail("how it handles exceptions is misstated");
}

void check_elf(const ElfFile& elf) {
  check_segments(elf);
  check_dynamic(elf);
}

}  // namespace loupe
