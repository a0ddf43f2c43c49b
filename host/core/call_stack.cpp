#include "core/call_stack.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>

#include "core/lock_soon.h"

namespace loupe {
namespace {

/// Where the code of this library, or of the program that it is a part of, lies.
struct OwnCode {
  std::uintptr_t begin = 0, end = 0;

  static const OwnCode& instance() {
    static const OwnCode code = [] {
      OwnCode found;
      dl_iterate_phdr(&OwnCode::find, &found);
      return found;
    }();
    return code;
  }
  bool holds(std::uintptr_t address) const { return address >= begin && address < end; }

 private:
  static int find(dl_phdr_info* object, std::size_t, void* data) {
    const auto here = reinterpret_cast<std::uintptr_t>(&OwnCode::find);
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const auto& segment = object->dlpi_phdr[i];
      const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
      if (segment.p_type != PT_LOAD || here < begin || here >= begin + segment.p_memsz) continue;
      *static_cast<OwnCode*>(data) = {begin, begin + segment.p_memsz};
      return 1;
    }
    return 0;
  }
};

bool is_of_a_library(std::string_view file) {
  for (const std::string_view folder : {"/usr/include/", "/usr/lib/", "/torch/include/", "/include/torch/",
                                        "/include/ATen/", "/include/c10/", "/include/c++/"}) {
    if (file.find(folder) != std::string_view::npos) return true;
  }
  return false;
}

std::string shown(const char* file, int line) {
  if (file == nullptr || line <= 0 || is_of_a_library(file)) return {};
  return std::filesystem::path(file).filename().string() + ":" + std::to_string(line);
}

/// How many libraries were ever loaded.
unsigned long long count_loads() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        *static_cast<unsigned long long*>(data) = object->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

/// The program's debug information as it lies in its own files. One thread at a time.
class DebugInformation {
 public:
  DebugInformation() : session_(dwfl_begin(&callbacks)) {}
  DebugInformation(const DebugInformation&) = delete;
  DebugInformation& operator=(const DebugInformation&) = delete;

  /// Finds the files of libraries that were loaded since.
  void refresh() {
    if (session_ == nullptr || loads_ == count_loads()) return;
    loads_ = count_loads();
    dwfl_report_begin(session_);
    dwfl_linux_proc_report(session_, getpid());
    dwfl_report_end(session_, nullptr, nullptr);
  }

  std::string line_of(Dwarf_Addr address) const {
    Dwfl_Module* module = session_ != nullptr ? dwfl_addrmodule(session_, address) : nullptr;
    if (module == nullptr) return {};
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = dwfl_module_addrdie(module, address, &bias);
    // Clang writes no table from which units are found by their addresses.
    while (unit == nullptr || dwarf_haspc(unit, address - bias) <= 0) {
      unit = dwfl_module_nextcu(module, unit, &bias);
      if (unit == nullptr) return {};
    }
    int number = 0;
    Dwarf_Line* line = dwarf_getsrc_die(unit, address - bias);
    const bool is_known = line != nullptr && dwarf_lineno(line, &number) == 0;
    std::string found = is_known ? shown(dwarf_linesrc(line, nullptr, nullptr), number) : std::string();
    return found.empty() ? caller_of_inlined(unit, address - bias) : found;
  }

 private:
  /// Where a function of a header was called that the compiler put into its caller.
  static std::string caller_of_inlined(Dwarf_Die* unit, Dwarf_Addr address) {
    Dwarf_Die *at = nullptr, *around = nullptr;
    std::string found;
    if (dwarf_getscopes(unit, address, &at) > 0) {
      const int count = dwarf_getscopes_die(&at[0], &around);
      for (int i = 0; i < count && found.empty(); ++i) found = call_of(unit, &around[i]);
    }
    std::free(around);
    std::free(at);
    return found;
  }
  static std::string call_of(Dwarf_Die* unit, Dwarf_Die* scope) {
    if (dwarf_tag(scope) != DW_TAG_inlined_subroutine) return {};
    Dwarf_Attribute attribute;
    Dwarf_Word file = 0, line = 0;
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    if (dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &attribute), &file) != 0) return {};
    if (dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &attribute), &line) != 0) return {};
    if (dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count) return {};
    return shown(dwarf_filesrc(files, file, nullptr, nullptr), static_cast<int>(line));
  }
  /// What lies elsewhere is not searched for, which may ask the network.
  static int find_nothing(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
    return -1;
  }
  static constexpr Dwfl_Callbacks callbacks = {
      .find_elf = dwfl_linux_proc_find_elf,
      .find_debuginfo = &find_nothing,
      .section_address = nullptr,
      .debuginfo_path = nullptr,
  };

  Dwfl* session_;
  unsigned long long loads_ = 0;
};

}  // namespace

CallStack CallStack::now() {
  struct Walk {
    CallStack stack;
    std::size_t count = 0;
  } walk;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* data) {
        Walk& at = *static_cast<Walk*>(data);
        const std::uintptr_t address = _Unwind_GetIP(context);
        if (OwnCode::instance().holds(address)) return _URC_NO_REASON;
        at.stack.addresses[at.count++] = address;
        return at.count < at.stack.addresses.size() ? _URC_NO_REASON : _URC_END_OF_STACK;
      },
      &walk);
  return walk.stack;
}

std::string CallStack::source_line() const {
  // Opened once, since that takes milliseconds and there may be findings for hundreds of layers. Never destroyed, so
  // that findings reported while the program exits can still use it.
  static std::mutex mutex;
  static auto& information = *new DebugInformation;
  // In a child that was forked while another thread was here, nobody will unlock it.
  const std::unique_lock lock = lock_soon(mutex, std::chrono::seconds(1));
  if (!lock) return {};
  information.refresh();
  std::string found;
  for (const std::uintptr_t address : addresses) {
    // A return address may be that of the next line.
    if (address == 0 || !found.empty()) break;
    found = information.line_of(address - 1);
  }
  return found;
}

}  // namespace loupe
