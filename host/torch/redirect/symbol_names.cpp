#include "torch/redirect/symbol_names.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/forks.h"
#include "torch/redirect/dynamic_section.h"

namespace loupe {
namespace {

// dladdr would read all of LibTorch's symbols for each function: 60 ms in all.

struct Name {
  ElfW(Addr) address;
  const char* text;
};
/// What one object exports, by address.
using Names = std::vector<Name>;

/// Empty for an object without the GNU hash table, which nearly every linker writes.
Names names_of(const dl_phdr_info& object) {
  Names names;
  const DynamicSection section(object);
  if (section.symbols == nullptr || section.strings == nullptr || section.gnu_hash == nullptr) return names;
  // The table: how many buckets, the first symbol in it, how many words of filter; the filter, the buckets, the chains.
  const std::uint32_t* const table = section.gnu_hash;
  const std::uint32_t bucket_count = table[0], first = table[1], filter_words = table[2];
  const std::uint32_t* const buckets = table + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* const chains = buckets + bucket_count;
  for (std::uint32_t bucket = 0; bucket < bucket_count; ++bucket) {
    std::uint32_t i = buckets[bucket];
    if (i < first) continue;
    do {
      const ElfW(Sym)& symbol = section.symbols[i];
      const bool is_code = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC || ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC;
      if (is_code && symbol.st_value != 0)
        names.push_back({object.dlpi_addr + symbol.st_value, section.strings + symbol.st_name});
    } while ((chains[i++ - first] & 1) == 0);
  }
  // Of several names of a function the first counts, as it does for dladdr.
  std::stable_sort(names.begin(), names.end(), [](const Name& a, const Name& b) { return a.address < b.address; });
  return names;
}

bool holds(const dl_phdr_info& object, ElfW(Addr) address) {
  return std::any_of(object.dlpi_phdr, object.dlpi_phdr + object.dlpi_phnum, [&](const ElfW(Phdr) & part) {
    return part.p_type == PT_LOAD && address - object.dlpi_addr - part.p_vaddr < part.p_memsz;
  });
}

ProcessMutex& mutex() {
  static ProcessMutex mutex;
  return mutex;
}

/// By where their objects were loaded.
std::unordered_map<ElfW(Addr), Names>& known_names() {
  static auto& names = *new std::unordered_map<ElfW(Addr), Names>();  // taps may outlive static destruction
  return names;
}

struct NameSearch {
  ElfW(Addr) address;
  const char* found;  // null where its object has no table to look in
};

int search_names(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<NameSearch*>(data);
  if (!holds(*object, search.address)) return 0;
  const auto [known, is_new] = known_names().try_emplace(object->dlpi_addr);
  if (is_new) known->second = names_of(*object);
  const Names& names = known->second;
  const auto found = std::lower_bound(names.begin(), names.end(), search.address,
                                      [](const Name& name, ElfW(Addr) address) { return name.address < address; });
  if (!names.empty()) search.found = found != names.end() && found->address == search.address ? found->text : "";
  return 1;
}

}  // namespace

std::string symbol_of(const void* function) {
  const std::lock_guard lock(mutex());
  NameSearch search{reinterpret_cast<ElfW(Addr)>(function), nullptr};
  dl_iterate_phdr(&search_names, &search);
  if (search.found != nullptr) return search.found;
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_sname == nullptr || info.dli_saddr != function) return "";
  return info.dli_sname;
}

void forget_symbol_names() {
  const std::lock_guard lock(mutex());
  known_names().clear();
}

}  // namespace loupe
