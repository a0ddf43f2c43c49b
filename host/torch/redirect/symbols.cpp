#include "torch/redirect/symbols.h"

#include <c10/util/Type.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <typeinfo>
#include <unordered_map>

#include "core/dynamic_section.h"
#include "core/forks.h"
#include "torch/redirect/slots.h"

namespace loupe {
namespace {

// dladdr would read all of LibTorch's symbols for each function, 60 ms in total.

struct ExportedName {
  ElfW(Addr) address;
  const char* text;
};
/// The exported names of one object, by address.
using ExportedNames = std::vector<ExportedName>;

/// Empty for an object without the GNU hash table, which nearly every linker writes.
ExportedNames names_of(const dl_phdr_info& object) {
  ExportedNames names;
  const DynamicSection section(object);
  if (section.symbols == nullptr || section.strings == nullptr || section.gnu_hash == nullptr) return names;
  // The table: the number of buckets, the first symbol in it, the number of filter words; the filter, buckets, chains.
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
  // The first of several names of a function counts, as in dladdr.
  std::stable_sort(names.begin(), names.end(),
                   [](const ExportedName& a, const ExportedName& b) { return a.address < b.address; });
  return names;
}

ProcessMutex& mutex() {
  static ProcessMutex mutex;
  return mutex;
}

/// The names by the load addresses of their objects.
std::unordered_map<ElfW(Addr), ExportedNames>& known_names() {
  static auto& names = *new std::unordered_map<ElfW(Addr), ExportedNames>();  // taps may outlive static destruction
  return names;
}

struct NameSearch {
  ElfW(Addr) address;
  const char* found;  // null if its object has no table to search
};

int search_names(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<NameSearch*>(data);
  if (!holds(*object, search.address)) return 0;
  const auto [known, is_new] = known_names().try_emplace(object->dlpi_addr);
  if (is_new) known->second = names_of(*object);
  const ExportedNames& names = known->second;
  const auto found =
      std::lower_bound(names.begin(), names.end(), search.address,
                       [](const ExportedName& name, ElfW(Addr) address) { return name.address < address; });
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

namespace {

/// A class whose member functions are searched.
struct WantedClass {
  std::string name;   // "net::BlockImpl"
  std::string token;  // "9BlockImpl", a part of every symbol of its members
  bool root;
  std::uintptr_t only_in = 0;  // the object with its anonymous namespace; others may have a class of that name
};

WantedClass wanted_class(const std::string& name, bool root) {
  std::string last = name.substr(0, name.find('<', name.rfind('>') == name.size() - 1 ? 0 : name.size()));
  const auto colons = last.rfind("::");
  if (colons != std::string::npos) last = last.substr(colons + 2);
  return {name, std::to_string(last.size()) + last, root, 0};
}

/// Whether the class before the symbol's last name is `type`; classes in its arguments do not count.
bool is_member(const std::string& symbol, const std::string& type) {
  const std::string prefix = type + "::";
  if (symbol.compare(0, prefix.size(), prefix) == 0) return true;
  const auto place = symbol.find(" " + prefix);  // a template's name follows its result's type
  if (place == std::string::npos) return false;
  const auto bracket = symbol.find('(');
  return bracket > place || symbol.compare(bracket, 21, "(anonymous namespace)") == 0;
}

/// `count` values at `offset` of a file; none if it ends earlier.
template <class T>
std::vector<T> values_at(std::ifstream& file, std::uint64_t offset, std::uint64_t count) {
  const auto size = static_cast<std::uint64_t>(file.seekg(0, std::ios::end).tellg());
  if (!file || offset > size || count > (size - offset) / sizeof(T)) return {};
  std::vector<T> values(count);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
  return file ? values : std::vector<T>();
}

/// @param base  the start of the object's addresses
void read_symbols(std::ifstream& file, const ElfW(Shdr) & table, const ElfW(Shdr) & names, std::uintptr_t base,
                  const std::vector<WantedClass>& wanted, std::vector<CodeRange>& found) {
  const std::uint64_t count = table.sh_size / sizeof(ElfW(Sym));
  const auto strings = values_at<char>(file, names.sh_offset, names.sh_size);
  if (strings.empty() || strings.back() != 0) return;
  for (const ElfW(Sym) & symbol : values_at<ElfW(Sym)>(file, table.sh_offset, count)) {
    const bool is_code = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
    if (!is_code || symbol.st_size == 0 || symbol.st_name >= names.sh_size) continue;
    const char* name = strings.data() + symbol.st_name;
    std::string plain;
    for (const WantedClass& each : wanted) {
      if (std::strstr(name, each.token.c_str()) == nullptr) continue;
      if (plain.empty()) plain = c10::demangle(name);
      if (!is_member(plain, each.name)) continue;
      found.push_back({base + symbol.st_value, base + symbol.st_value + symbol.st_size, each.root, nullptr});
      break;
    }
  }
}

void read_object(const std::string& path, std::uintptr_t base, const std::vector<WantedClass>& wanted,
                 std::vector<CodeRange>& found) {
  std::vector<WantedClass> here;
  for (const WantedClass& each : wanted) {
    if (each.only_in == 0 || each.only_in == base) here.push_back(each);
  }
  std::ifstream file(path, std::ios::binary);
  const auto headers = values_at<ElfW(Ehdr)>(file, 0, 1);
  if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      headers[0].e_shentsize != sizeof(ElfW(Shdr)))
    return;
  if (headers[0].e_type == ET_EXEC) base = 0;  // its symbols are absolute addresses
  const auto sections = values_at<ElfW(Shdr)>(file, headers[0].e_shoff, headers[0].e_shnum);
  for (const ElfW(Shdr) & section : sections) {
    const bool has_symbols = section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM;
    if (has_symbols && section.sh_link < sections.size())
      read_symbols(file, section, sections[section.sh_link], base, here, found);
  }
}

bool is_libtorchs(const std::string& type) {
  return type.compare(0, 11, "torch::nn::") == 0;
}

/// Adds a class and its bases, up to LibTorch's own.
void add_classes(const std::type_info& type, bool root, std::vector<const std::type_info*>& types,
                 std::vector<WantedClass>& wanted) {
  const std::string name = c10::demangle(type.name());
  const bool known =
      std::any_of(wanted.begin(), wanted.end(), [&](const WantedClass& each) { return each.name == name; });
  if (known || (is_libtorchs(name) && !(root && types.empty()))) return;
  types.push_back(&type);
  wanted.push_back(wanted_class(name, root));
  Dl_info info{};
  if (name.find("(anonymous namespace)") != std::string::npos && dladdr(&type, &info) != 0)
    wanted.back().only_in = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  if (const auto* one = dynamic_cast<const abi::__si_class_type_info*>(&type)) {
    add_classes(*one->__base_type, root, types, wanted);
  } else if (const auto* several = dynamic_cast<const abi::__vmi_class_type_info*>(&type)) {
    for (unsigned int i = 0; i < several->__base_count; ++i)
      add_classes(*several->__base_info[i].__base_type, root, types, wanted);
  }
}

}  // namespace

std::vector<CodeRange> find_model_code(torch::nn::Module& root) {
  std::vector<const std::type_info*> types;
  std::vector<WantedClass> wanted;
  add_classes(typeid(root), true, types, wanted);
  for (const auto& module : root.modules(/*include_self=*/false)) {
    if (module == nullptr) continue;
    const torch::nn::Module& each = *module;
    add_classes(typeid(each), false, types, wanted);
  }

  const void* const program = base_of_program();
  std::map<std::uintptr_t, std::string> objects;  // names of files, by the load address
  if (program != nullptr) objects[reinterpret_cast<std::uintptr_t>(program)] = "/proc/self/exe";
  for (const std::type_info* type : types) {
    Dl_info info{};
    if (dladdr(type, &info) == 0 || info.dli_fname == nullptr) continue;
    objects.emplace(reinterpret_cast<std::uintptr_t>(info.dli_fbase), info.dli_fname);
  }
  // LibTorch's own library holds the type of a Sequential, but not its forward: a template of the program's.
  const void* const libtorch = base_of(&typeid(torch::nn::Module));
  if (libtorch != program) objects.erase(reinterpret_cast<std::uintptr_t>(libtorch));

  std::vector<CodeRange> found;
  for (const auto& [base, path] : objects) read_object(path, base, wanted, found);
  std::sort(found.begin(), found.end(), [](const CodeRange& a, const CodeRange& b) { return a.begin < b.begin; });
  return found;
}

std::vector<CodeRange> find_member_code(const std::string& type, const void* address) {
  Dl_info object{};
  if (dladdr(address, &object) == 0) return {};
  const bool in_program = object.dli_fbase == base_of_program();
  std::vector<CodeRange> found;
  read_object(in_program ? "/proc/self/exe" : object.dli_fname, reinterpret_cast<std::uintptr_t>(object.dli_fbase),
              {wanted_class(type, false)}, found);
  return found;
}

}  // namespace loupe
