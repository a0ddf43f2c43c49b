#pragma once

#include <link.h>

#include "core/shared.h"

namespace loupe {

/// Whether an address is in the library or program with this code, or in a library of Loupe's that belongs to it: a
/// part, or a library that a trainer links beside the host. Any thread, no lock.
LOUPE_SHARED bool is_own(const void* address) noexcept;
/// The same for a loaded library.
bool is_own_library(const dl_phdr_info& library) noexcept;
/// Searches for such libraries again; call it after opening one.
void read_own_code() noexcept;

}  // namespace loupe
