#include "torch/redirect/symbols.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <torch/nn/module.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <typeinfo>
#include <unordered_map>
#include <vector>

#include "core/dynamic_section.h"
#include "core/forks.h"

namespace loupe {
namespace {

// dladdr would read all of LibTorch's symbols for each function: 60 ms in all.

struct ExportedName {
  ElfW(Addr) address;
  const char* text;
};
/// What one object exports, by address.
using ExportedNames = std::vector<ExportedName>;

/// Empty for an object without the GNU hash table, which nearly every linker writes.
ExportedNames names_of(const dl_phdr_info& object) {
  ExportedNames names;
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
  // The first of several names of a function counts, as it does for dladdr.
  std::stable_sort(names.begin(), names.end(),
                   [](const ExportedName& a, const ExportedName& b) { return a.address < b.address; });
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
std::unordered_map<ElfW(Addr), ExportedNames>& known_names() {
  static auto& names = *new std::unordered_map<ElfW(Addr), ExportedNames>();  // taps may outlive static destruction
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

std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                         &std::free);
  return text != nullptr ? text.get() : "";
}

/// A class whose member functions are looked for.
struct WantedClass {
  std::string name;   // "net::BlockImpl"
  std::string token;  // "9BlockImpl", as it stands in every symbol of its members
  bool root;
  std::uintptr_t only_in = 0;  // the object that an anonymous namespace is in; others may have a class of that name
};

WantedClass wanted_class(const std::string& name, bool root) {
  std::string last = name.substr(0, name.find('<', name.rfind('>') == name.size() - 1 ? 0 : name.size()));
  const auto colons = last.rfind("::");
  if (colons != std::string::npos) last = last.substr(colons + 2);
  return {name, std::to_string(last.size()) + last, root, 0};
}

/// The class before the symbol's last name decides, not classes in its arguments.
bool is_member(const std::string& symbol, const std::string& type) {
  const std::string prefix = type + "::";
  if (symbol.compare(0, prefix.size(), prefix) == 0) return true;
  const auto place = symbol.find(" " + prefix);  // after the result's type, of a template
  if (place == std::string::npos) return false;
  const auto bracket = symbol.find('(');
  return bracket > place || symbol.compare(bracket, 21, "(anonymous namespace)") == 0;
}

/// A file mapped to be read.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat status {};
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
      size_ = static_cast<std::size_t>(status.st_size);
      void* memory = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      if (memory != MAP_FAILED) data_ = static_cast<const char*>(memory);
    }
    close(file);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  }
  /// `count` values at `offset`; null where the file ends before.
  template <class T>
  const T* at(std::uint64_t offset, std::uint64_t count = 1) const {
    const bool fits = data_ != nullptr && offset <= size_ && count <= (size_ - offset) / sizeof(T);
    return fits && offset % alignof(T) == 0 ? reinterpret_cast<const T*>(data_ + offset) : nullptr;
  }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

/// @param base  where the object's addresses count from
void read_symbols(const MappedFile& file, const ElfW(Shdr) & table, const ElfW(Shdr) & names, std::uintptr_t base,
                  const std::vector<WantedClass>& wanted, std::vector<CodeRange>& found) {
  const std::uint64_t count = table.sh_size / sizeof(ElfW(Sym));
  const auto* symbols = file.at<ElfW(Sym)>(table.sh_offset, count);
  const auto* strings = file.at<char>(names.sh_offset, names.sh_size);
  if (symbols == nullptr || strings == nullptr || names.sh_size == 0 || strings[names.sh_size - 1] != 0) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    const ElfW(Sym)& symbol = symbols[i];
    const bool is_code = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
    if (!is_code || symbol.st_size == 0 || symbol.st_name >= names.sh_size) continue;
    const char* name = strings + symbol.st_name;
    std::string plain;
    for (const WantedClass& each : wanted) {
      if (std::strstr(name, each.token.c_str()) == nullptr) continue;
      if (plain.empty()) plain = demangled(name);
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
  const MappedFile file(path);
  const auto* header = file.at<ElfW(Ehdr)>(0);
  if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_shentsize != sizeof(ElfW(Shdr)))
    return;
  if (header->e_type == ET_EXEC) base = 0;  // its symbols are addresses
  const auto* sections = file.at<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
  for (int i = 0; sections != nullptr && i < header->e_shnum; ++i) {
    const bool has_symbols = sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM;
    if (has_symbols && sections[i].sh_link < header->e_shnum)
      read_symbols(file, sections[i], sections[sections[i].sh_link], base, here, found);
  }
}

bool is_libtorchs(const std::string& type) {
  return type.compare(0, 11, "torch::nn::") == 0;
}

/// A class and those that it is derived from, up to LibTorch's own.
void add_classes(const std::type_info& type, bool root, std::vector<const std::type_info*>& types,
                 std::vector<WantedClass>& wanted) {
  const std::string name = demangled(type.name());
  const bool known =
      std::any_of(wanted.begin(), wanted.end(), [&](const WantedClass& each) { return each.name == name; });
  if (name.empty() || known || (is_libtorchs(name) && !(root && types.empty()))) return;
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

  Dl_info program{};
  const auto* headers = reinterpret_cast<const void*>(getauxval(AT_PHDR));
  const bool has_program = headers != nullptr && dladdr(headers, &program) != 0;
  std::map<std::uintptr_t, std::string> objects;  // by where each was loaded
  if (has_program) objects[reinterpret_cast<std::uintptr_t>(program.dli_fbase)] = "/proc/self/exe";
  for (const std::type_info* type : types) {
    Dl_info info{};
    if (dladdr(type, &info) == 0 || info.dli_fname == nullptr) continue;
    objects.emplace(reinterpret_cast<std::uintptr_t>(info.dli_fbase), info.dli_fname);
  }
  // LibTorch's own library holds the type of a Sequential, but not its forward: a template of the program's.
  Dl_info libtorch{};
  if (dladdr(&typeid(torch::nn::Module), &libtorch) != 0 && libtorch.dli_fbase != program.dli_fbase)
    objects.erase(reinterpret_cast<std::uintptr_t>(libtorch.dli_fbase));

  std::vector<CodeRange> found;
  for (const auto& [base, path] : objects) read_object(path, base, wanted, found);
  std::sort(found.begin(), found.end(), [](const CodeRange& a, const CodeRange& b) { return a.begin < b.begin; });
  return found;
}

std::vector<CodeRange> find_member_code(const std::string& type, const void* address) {
  Dl_info object{}, program{};
  const auto* headers = reinterpret_cast<const void*>(getauxval(AT_PHDR));
  if (dladdr(address, &object) == 0) return {};
  const bool in_program = headers != nullptr && dladdr(headers, &program) != 0 && program.dli_fbase == object.dli_fbase;
  std::vector<CodeRange> found;
  read_object(in_program ? "/proc/self/exe" : object.dli_fname, reinterpret_cast<std::uintptr_t>(object.dli_fbase),
              {wanted_class(type, false)}, found);
  return found;
}

}  // namespace loupe
