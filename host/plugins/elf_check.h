#ifndef LOUPE_PLUGINS_ELF_CHECK_H
#define LOUPE_PLUGINS_ELF_CHECK_H

#include "plugins/elf_file.h"

namespace loupe {

/// Checks all that the dynamic linker believes without looking, and would kill the process over: segments, the dynamic
/// section with what it points at, and relocations, against the file and against the table of sections where there is
/// one. What the linker itself refuses is left to it. Throws Error naming the file and what is damaged.
void check_elf(const ElfFile& elf);

/// The two halves of it.
void check_segments(const ElfFile& elf);
void check_dynamic(const ElfFile& elf);

}  // namespace loupe

#endif
