#include "preload/needed_libraries.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#include "preload/boundary.h"

namespace loupe {
namespace {

#if defined(__x86_64__)
constexpr int own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int own_machine = EM_AARCH64;
#else
constexpr int own_machine = EM_NONE;
#endif

/// A file's bytes; every access is checked against its size.
struct Bytes {
  const char* data;
  ElfW(Xword) size;

  template <class T>
  const T* at(ElfW(Off) offset) const {
    const bool fits = offset <= size && sizeof(T) <= size - offset && offset % alignof(T) == 0;
    return fits ? reinterpret_cast<const T*>(data + offset) : nullptr;
  }
};

/// The offset in the file of an address of its memory; the file's size if it has none.
ElfW(Off) offset_of(const Bytes& file, const ElfW(Ehdr) & header, ElfW(Addr) address) {
  for (int i = 0; i < header.e_phnum; ++i) {
    const auto* segment = file.at<ElfW(Phdr)>(header.e_phoff + static_cast<ElfW(Off)>(i) * sizeof(ElfW(Phdr)));
    if (segment == nullptr) break;
    if (segment->p_type != PT_LOAD || address < segment->p_vaddr || address - segment->p_vaddr >= segment->p_filesz)
      continue;
    return segment->p_offset + (address - segment->p_vaddr);
  }
  return file.size;
}

void read_dynamic(const Bytes& file, const ElfW(Ehdr) & header, const ElfW(Phdr) & dynamic, NeededLibraries& needed) {
  ElfW(Off) strings = file.size;
  const ElfW(Xword) count = dynamic.p_filesz / sizeof(ElfW(Dyn));
  const auto entry = [&](ElfW(Xword) i) { return file.at<ElfW(Dyn)>(dynamic.p_offset + i * sizeof(ElfW(Dyn))); };
  for (ElfW(Xword) i = 0; i < count && entry(i) != nullptr; ++i) {
    if (entry(i)->d_tag == DT_STRTAB) strings = offset_of(file, header, entry(i)->d_un.d_ptr);
  }
  for (ElfW(Xword) i = 0; i < count && entry(i) != nullptr; ++i) {
    const ElfW(Off) name = strings + entry(i)->d_un.d_val;
    if (entry(i)->d_tag != DT_NEEDED || name >= file.size || needed.count == NeededLibraries::most) continue;
    const auto left = static_cast<int>(file.size - name < NeededLibraries::longest - 1 ? file.size - name
                                                                                       : NeededLibraries::longest - 1);
    std::snprintf(needed.names[needed.count++], NeededLibraries::longest, "%.*s", left, file.data + name);
  }
}

bool read(const Bytes& file, NeededLibraries& needed) {
  if (file.size < EI_NIDENT || std::memcmp(file.data, ELFMAG, SELFMAG) != 0) return false;
  const auto* header = file.at<ElfW(Ehdr)>(0);
  const bool is_own_class = file.data[EI_CLASS] == (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32);
  if (!is_own_class || header == nullptr || header->e_machine != own_machine) {
    needed.is_other_class = true;
    return true;
  }
  for (int i = 0; i < header->e_phnum; ++i) {
    const auto* segment = file.at<ElfW(Phdr)>(header->e_phoff + static_cast<ElfW(Off)>(i) * sizeof(ElfW(Phdr)));
    if (segment == nullptr) return true;
    if (segment->p_type == PT_INTERP) needed.is_dynamic = true;
    if (segment->p_type == PT_DYNAMIC) read_dynamic(file, *header, *segment, needed);
  }
  return true;
}

}  // namespace

bool read_needed_libraries(const char* path, NeededLibraries& needed) {
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  struct stat status {};
  void* memory = MAP_FAILED;
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
    memory = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  if (memory == MAP_FAILED) return false;
  const auto size = static_cast<std::size_t>(status.st_size);
  const bool is_elf = read({static_cast<const char*>(memory), size}, needed);
  const void* mark = memmem(memory, size, built_with_mark, std::strlen(built_with_mark));
  if (mark != nullptr) {
    const char* version = static_cast<const char*>(mark) + std::strlen(built_with_mark);
    const auto left = static_cast<std::size_t>(static_cast<const char*>(memory) + size - version);
    std::snprintf(needed.libtorch, NeededLibraries::longest, "%.*s", static_cast<int>(strnlen(version, left)), version);
  }
  munmap(memory, size);
  return is_elf;
}

bool is_mapped(const char* name) {
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return false;
  const std::size_t length = std::strlen(name);
  char text[8192];
  std::size_t kept = 0;  // bytes kept of the previous piece, which may contain the beginning of the name
  bool found = false;
  while (!found) {
    const ssize_t count = ::read(maps, text + kept, sizeof text - kept);
    if (count <= 0) break;
    const std::size_t size = kept + static_cast<std::size_t>(count);
    found = memmem(text, size, name, length) != nullptr;
    kept = size < length ? size : length - 1;
    std::memmove(text, text + size - kept, kept);
  }
  close(maps);
  return found;
}

}  // namespace loupe
