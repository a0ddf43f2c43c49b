#include "core/own_code.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "core/dynamic_section.h"

namespace loupe {
namespace {

struct Range {
  std::atomic<std::uintptr_t> begin{0}, end{0};
};
std::array<Range, 16> ranges;  // used ranges come first

void add(std::uintptr_t begin, std::uintptr_t end) {
  for (Range& each : ranges) {
    std::uintptr_t before = 0;
    if (each.begin.compare_exchange_strong(before, begin)) each.end.store(end);
    if (before == 0 || before == begin) return;
  }
}

int read_library(dl_phdr_info* library, std::size_t, void*) {
  if (!is_own_library(*library)) return 0;
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t first = library->dlpi_addr + segment.p_vaddr;
    begin = first < begin ? first : begin;
    end = first + segment.p_memsz > end ? first + segment.p_memsz : end;
  }
  if (begin < end) add(begin, end);
  return 0;
}

}  // namespace

bool is_own_library(const dl_phdr_info& library) noexcept {
  if (holds(library, reinterpret_cast<ElfW(Addr)>(&read_library))) return true;
  const DynamicSection dynamic(library);
  if (dynamic.strings == nullptr || dynamic.own_name == 0) return false;
  const std::string_view name = dynamic.strings + dynamic.own_name;
  for (const std::string_view own : {"libloupe_host.so", "libloupe_listeners.so", "libloupe_part_"}) {
    if (name.substr(0, own.size()) == own) return true;
  }
  return false;
}

void read_own_code() noexcept {
  dl_iterate_phdr(&read_library, nullptr);
}

bool is_own(const void* address) noexcept {
  [[maybe_unused]] static const bool is_read = (read_own_code(), true);
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  for (const Range& each : ranges) {
    const std::uintptr_t begin = each.begin.load(std::memory_order_relaxed);
    if (begin == 0) return false;
    if (place >= begin && place < each.end.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

}  // namespace loupe
