#include "torch/redirect/slots.h"

#include <dlfcn.h>
#include <elf.h>
#include <linux/membarrier.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>

#include "core/dynamic_section.h"
#include "core/own_code.h"

namespace loupe {
namespace {

#if defined(__x86_64__)
bool is_call_slot(std::uint64_t type) {
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}
#elif defined(__aarch64__)
bool is_call_slot(std::uint64_t type) {
  return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}
#else
bool is_call_slot(std::uint64_t) {
  return false;
}
#endif

struct Search {
  std::unordered_set<std::string_view> wanted;
  std::unordered_map<std::string, std::vector<Slot>>* found;
  std::unordered_set<const void*> libtorch_bases;
  SearchedObjects* searched;
};

/// LibTorch's libraries without a function that every program can name: only their file names identify them, with or
/// without a version suffix.
bool is_name_of_libtorch(std::string_view name) {
  static const auto& names = *new std::unordered_set<std::string_view>{
      "libtorch.so",     "libtorch_cuda.so", "libtorch_cuda_cpp.so", "libtorch_cuda_cu.so", "libtorch_cuda_linalg.so",
      "libtorch_hip.so", "libtorch_xpu.so",  "libtorch_python.so",   "libc10_cuda.so",      "libc10_hip.so",
      "libc10_xpu.so"};
  const auto ending = name.find(".so");
  return ending != std::string_view::npos && names.count(name.substr(0, ending + 3)) != 0;
}

int search_object(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (is_own_library(*info)) return 0;
  if (search.searched != nullptr && !search.searched->insert(info->dlpi_addr).second) return 0;
  const std::string_view name = info->dlpi_name != nullptr ? info->dlpi_name : "";
  if (name.find("linux-vdso") != std::string_view::npos) return 0;
  const DynamicSection dynamic(*info);
  if (dynamic.symbols == nullptr || dynamic.strings == nullptr) return 0;
  const bool in_libtorch = search.libtorch_bases.count(reinterpret_cast<const void*>(info->dlpi_addr)) != 0 ||
                           (dynamic.own_name != 0 && is_name_of_libtorch(dynamic.strings + dynamic.own_name));
  for (int t = 0; t < 2; ++t) {
    const std::size_t first = t == 1 ? dynamic.relative_count : 0;
    for (std::size_t i = first; dynamic.tables[t] != nullptr && i < dynamic.counts[t]; ++i) {
      const ElfW(Rela)& relocation = dynamic.tables[t][i];
      if (!is_call_slot(ELF64_R_TYPE(relocation.r_info))) continue;
      const char* const symbol = dynamic.strings + dynamic.symbols[ELF64_R_SYM(relocation.r_info)].st_name;
      if (search.wanted.count(symbol) == 0) continue;
      (*search.found)[symbol].push_back({reinterpret_cast<void**>(info->dlpi_addr + relocation.r_offset), in_libtorch});
    }
  }
  return 0;
}

/// Makes data stored before a new pointer visible to threads that call through it: without this, a processor other than
/// x86 may have loaded it too early.
void order_loads_of_all_threads() {
#if !defined(__x86_64__)
  static const bool can = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  if (can) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
#endif
}

}  // namespace

const void* base_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

const void* base_of_program() {
  const auto* headers = reinterpret_cast<const void*>(getauxval(AT_PHDR));
  return headers != nullptr ? base_of(headers) : nullptr;
}

std::unordered_map<std::string, std::vector<Slot>> find_slots(const std::vector<std::string>& symbols,
                                                              const std::vector<const void*>& libtorch,
                                                              SearchedObjects* searched) {
  std::unordered_map<std::string, std::vector<Slot>> found;
  Search search{{symbols.begin(), symbols.end()}, &found, {}, searched};
  for (const void* address : libtorch) search.libtorch_bases.insert(base_of(address));
  // If the program takes the address of a function, that address may lie in the program.
  search.libtorch_bases.erase(base_of_program());
  search.libtorch_bases.erase(nullptr);
  dl_iterate_phdr(&search_object, &search);
  return found;
}

LibraryChanges library_changes() {
  LibraryChanges changes;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        *static_cast<LibraryChanges*>(data) = {info->dlpi_adds, info->dlpi_subs};
        return 1;
      },
      &changes);
  return changes;
}

PointerWriter::PointerWriter() {
  order_loads_of_all_threads();
}

void PointerWriter::read_mappings() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    // Reads lines like "7f00-7f10 r-xp …"; sscanf would take most of this constructor's time.
    Mapping mapping{};
    const char* const last = line.data() + line.size();
    const auto begin = std::from_chars(line.data(), last, mapping.begin, 16);
    if (begin.ptr == last || *begin.ptr != '-') continue;
    const auto end = std::from_chars(begin.ptr + 1, last, mapping.end, 16);
    if (last - end.ptr < 4) continue;
    const char* const rights = end.ptr + 1;
    mapping.protection =
        (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) | (rights[2] == 'x' ? PROT_EXEC : 0);
    mappings_.push_back(mapping);
  }
  if (mappings_.empty()) dl_iterate_phdr(&PointerWriter::add_segments, this);  // a container may have no /proc
}

/// Adds an object's segments with the loader's protection.
int PointerWriter::add_segments(dl_phdr_info* object, std::size_t, void* self) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto& mappings = static_cast<PointerWriter*>(self)->mappings_;
  const auto add = [&](std::uint32_t type) {
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = object->dlpi_phdr[i];
      if (segment.p_type != type) continue;
      const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
      const bool is_sealed = type == PT_GNU_RELRO;
      const std::uintptr_t last = is_sealed ? end & ~(page - 1) : (end + page - 1) & ~(page - 1);
      const int rights = ((segment.p_flags & PF_R) != 0 ? PROT_READ : 0) |
                         ((segment.p_flags & PF_W) != 0 && !is_sealed ? PROT_WRITE : 0) |
                         ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
      mappings.push_back({begin & ~(page - 1), last, rights});
    }
  };
  add(PT_GNU_RELRO);  // first, as it is within a writable segment
  add(PT_LOAD);
  return 0;
}

const PointerWriter::Mapping* PointerWriter::mapping_of(void* const* address) {
  if (mappings_.empty()) read_mappings();
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  for (const Mapping& mapping : mappings_) {
    if (place >= mapping.begin && place < mapping.end) return &mapping;
  }
  return nullptr;
}

bool PointerWriter::holds(void* const* address, const void* value) {
  const Mapping* mapping = mapping_of(address);
  return mapping != nullptr && (mapping->protection & PROT_READ) != 0 && *address == value;
}

bool PointerWriter::write(void** address, void* value) {
  const Mapping* mapping = mapping_of(address);
  if (mapping == nullptr) return false;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const start = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) & ~(page - 1));
  const bool read_only = (mapping->protection & PROT_WRITE) == 0;
  if (read_only && mprotect(start, page, mapping->protection | PROT_WRITE) != 0) return false;
  // Other threads may be calling through the slot: use one aligned store, never a half-written pointer.
  __atomic_store_n(address, value, __ATOMIC_RELEASE);
  if (read_only) mprotect(start, page, mapping->protection);
  return true;
}

}  // namespace loupe
