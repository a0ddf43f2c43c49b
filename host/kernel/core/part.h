#pragma once

#include <cstdint>
#include <string>

#include "core/shared.h"

namespace loupe {

/// The parts that a usual run does not need. Each is a library, `loupe/optional/NAME.so` beside the host's, that is
/// opened when first needed and never closed. Each has a table of functions, declared in a header of the kernel.
enum class Part : uint8_t { run, script, timing, ranks, services, lines };

/// The table of a part, which is opened if necessary; null if that fails. Then a warning names, once per process, the
/// effect `without` it. Any thread, but none that holds a leaf mutex or is in a signal handler: takes the dynamic
/// linker's lock, which comes after a module's. The table lives as long as the process, in its forks too.
LOUPE_SHARED const void* table_of(Part part, const char* without) noexcept;
/// The table of a part that is open; else null. Any thread, any time: one load.
LOUPE_SHARED const void* opened_table(Part part) noexcept;
/// Registers a part that the program links. Call it before the part is first used.
void link_part(Part part, const void* table) noexcept;
/// From now on parts are opened beside the library that has this code; before, only linked ones exist. A program with
/// its own core does not call this: parts need the host's.
LOUPE_SHARED void look_for_parts() noexcept;
/// Call it when the process ends and a thread may hold the dynamic linker's lock forever.
LOUPE_SHARED void open_no_more_parts() noexcept;

/// The table of `Table::part`; see table_of.
template <class Table>
const Table* part(const char* without) noexcept {
  return static_cast<const Table*>(table_of(Table::part, without));
}
/// See opened_table.
template <class Table>
const Table* opened() noexcept {
  return static_cast<const Table*>(opened_table(Table::part));
}

/// The dynamic linker's reason for not opening that file, without the file's name.
std::string linker_words(const std::string& file);
/// Returns `table`. Each part calls this, so the dynamic linker does not open it beside a host of another build.
LOUPE_SHARED const void* of_this_build(const void* table) noexcept;
/// The function that a part exports, by LOUPE_PART in its file part.cpp.
constexpr const char* part_entry = "loupe_part";
#define LOUPE_PART(table)                                                              \
  extern "C" __attribute__((visibility("default"))) const void* loupe_part() noexcept; \
  const void* loupe_part() noexcept {                                                  \
    return ::loupe::of_this_build(&(table));                                           \
  }

}  // namespace loupe
