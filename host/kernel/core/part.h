#pragma once

#include <cstdint>
#include <string>

#include "core/shared.h"

namespace loupe {

/// What a usual run does without: a library each, `loupe/optional/NAME.so` beside the host's, which is opened when it
/// is first needed and never closed. Each has the table of functions that a header of the kernel declares.
enum class Part : uint8_t { run, script, timing, ranks, services, lines };

/// The table of a part, which is opened now unless it is; null where it cannot be. Then the user is told once a
/// process, with what happens `without` it. Any thread, but none that holds a leaf mutex or is in a signal handler:
/// takes the dynamic linker's lock, which comes after a module's. The table lives as long as the process, in its forks
/// too.
LOUPE_SHARED const void* table_of(Part part, const char* without) noexcept;
/// The table of a part that is open; else null. Any thread, any time: one load.
LOUPE_SHARED const void* opened_table(Part part) noexcept;
/// For a program that has the part linked in, before anything asks for it.
void link_part(Part part, const void* table) noexcept;
/// From now on parts are opened beside the library that has this code; before, there are linked ones alone. A program
/// with its own core does not call this: parts work on the host's.
LOUPE_SHARED void look_for_parts() noexcept;
/// For an end of the process in which a thread may hold the dynamic linker's lock for good.
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

/// Why the dynamic linker did not open that file, without the name of the file.
std::string linker_words(const std::string& file);
/// Returns `table`. That each part calls this keeps the dynamic linker from opening it beside the host of another
/// build.
LOUPE_SHARED const void* of_this_build(const void* table) noexcept;
/// The function that a part exports, by LOUPE_PART in its file part.cpp.
constexpr const char* part_entry = "loupe_part";
#define LOUPE_PART(table)                                                              \
  extern "C" __attribute__((visibility("default"))) const void* loupe_part() noexcept; \
  const void* loupe_part() noexcept {                                                  \
    return ::loupe::of_this_build(&(table));                                           \
  }

}  // namespace loupe
