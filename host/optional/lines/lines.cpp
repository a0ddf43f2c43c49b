#include "lines/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <link.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/locks.h"

namespace loupe {
namespace {

bool is_of_a_library(std::string_view file) {
  for (const std::string_view folder : {"/usr/include/", "/usr/lib/", "/torch/include/", "/include/torch/",
                                        "/include/ATen/", "/include/c10/", "/include/c++/"}) {
    if (file.find(folder) != std::string_view::npos) return true;
  }
  return false;
}

SourceLine shown(const char* file, int line) {
  if (file == nullptr || line <= 0 || is_of_a_library(file)) return {};
  return {std::filesystem::path(file).filename().string(), static_cast<uint32_t>(line)};
}

/// The number of libraries loaded so far.
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

/// The debug information in the program's own files. One thread at a time. Looking up an address takes milliseconds,
/// but findings of hundreds of layers name few addresses in few compilation units, so results are cached by address,
/// and functions by unit.
class DebugInformation {
 public:
  DebugInformation() : session_(dwfl_begin(&callbacks)) {}
  DebugInformation(const DebugInformation&) = delete;
  DebugInformation& operator=(const DebugInformation&) = delete;

  /// Adds libraries that were loaded since the last call.
  void refresh() {
    if (session_ == nullptr || loads_ == count_loads()) return;
    loads_ = count_loads();
    lines_.clear();
    functions_.clear();
    dwfl_report_begin(session_);
    dwfl_linux_proc_report(session_, getpid());
    dwfl_report_end(session_, nullptr, nullptr);
  }

  const SourceLine& line_of(Dwarf_Addr address) {
    const auto [known, is_new] = lines_.try_emplace(address);
    if (is_new) known->second = find_line(address);
    return known->second;
  }

 private:
  struct Function {
    Dwarf_Addr begin, end;
    Dwarf_Die die;
  };
  using Functions = std::vector<Function>;
  // Limits the recursion in damaged debug information.
  static constexpr int most_nested = 100;

  SourceLine find_line(Dwarf_Addr address) {
    Dwfl_Module* module = session_ != nullptr ? dwfl_addrmodule(session_, address) : nullptr;
    if (module == nullptr) return {};
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = dwfl_module_addrdie(module, address, &bias);
    // Clang writes no table by which units could be found by address.
    while (unit == nullptr || dwarf_haspc(unit, address - bias) <= 0) {
      unit = dwfl_module_nextcu(module, unit, &bias);
      if (unit == nullptr) return {};
    }
    int number = 0;
    Dwarf_Line* line = dwarf_getsrc_die(unit, address - bias);
    const bool is_known = line != nullptr && dwarf_lineno(line, &number) == 0;
    SourceLine found = is_known ? shown(dwarf_linesrc(line, nullptr, nullptr), number) : SourceLine();
    return found.file.empty() ? caller_of_inlined(unit, address - bias) : found;
  }

  /// Passes each child to `call`.
  template <class Call>
  static void each_child(Dwarf_Die* parent, const Call& call) {
    Dwarf_Die child;
    bool has_one = dwarf_child(parent, &child) == 0;
    while (has_one) {
      const void* const place = child.addr;
      call(&child);
      has_one = dwarf_siblingof(&child, &child) == 0 && child.addr > place;  // damaged ones may lead back
    }
  }
  /// The functions of a unit that were not inlined.
  const Functions& functions_of(Dwarf_Die* unit) {
    const auto [known, is_new] = functions_.try_emplace(unit->addr);
    if (is_new) add_functions(unit, known->second, 0);
    return known->second;
  }
  static void add_functions(Dwarf_Die* parent, Functions& functions, int depth) {
    each_child(parent, [&](Dwarf_Die* child) {
      const int tag = dwarf_tag(child);
      if ((tag == DW_TAG_namespace || tag == DW_TAG_module) && depth < most_nested)
        add_functions(child, functions, depth + 1);
      if (tag != DW_TAG_subprogram) return;
      Dwarf_Addr base = 0, begin = 0, end = 0;
      for (std::ptrdiff_t next = 0; (next = dwarf_ranges(child, next, &base, &begin, &end)) > 0;)
        functions.push_back({begin, end, *child});
    });
  }
  /// The call site of a function that was inlined from a header.
  SourceLine caller_of_inlined(Dwarf_Die* unit, Dwarf_Addr address) {
    for (const Function& each : functions_of(unit)) {
      if (address < each.begin || address >= each.end) continue;
      Dwarf_Die function = each.die;
      return call_within(unit, &function, address, 0);
    }
    return {};
  }
  /// The innermost call site outside of headers.
  static SourceLine call_within(Dwarf_Die* unit, Dwarf_Die* scope, Dwarf_Addr address, int depth) {
    SourceLine found;
    each_child(scope, [&](Dwarf_Die* child) {
      const int tag = dwarf_tag(child);
      const bool is_scope = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
                            tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
      if (!found.file.empty() || !is_scope || depth >= most_nested || dwarf_haspc(child, address) <= 0) return;
      found = call_within(unit, child, address, depth + 1);
      if (found.file.empty()) found = call_of(unit, child);
    });
    return found;
  }
  static SourceLine call_of(Dwarf_Die* unit, Dwarf_Die* scope) {
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
  /// Debug files elsewhere are not searched: that may use the network.
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
  std::unordered_map<Dwarf_Addr, SourceLine> lines_;
  std::unordered_map<const void*, Functions> functions_;  // by unit
};

SourceLine line_of(const CallStack& stack) {
  // Opened once, since that takes milliseconds and there may be findings for hundreds of layers. Never destroyed, so
  // that findings reported while the program exits can still use it.
  static std::mutex mutex;
  static auto& information = *new DebugInformation;
  // The mutex stays locked in a child that was forked while another thread held it.
  const std::unique_lock lock = lock_soon(mutex, std::chrono::seconds(1));
  if (!lock) return {};
  information.refresh();
  for (const std::uintptr_t address : stack.addresses) {
    if (address == 0) break;
    // A return address may be that of the next line.
    if (const SourceLine& found = information.line_of(address - 1); !found.file.empty()) return found;
  }
  return {};
}

}  // namespace

const LinesTable lines_table = {&line_of};

}  // namespace loupe
