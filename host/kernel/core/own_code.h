#pragma once

#include <link.h>

#include "core/shared.h"

namespace loupe {

/// Whether an address lies in the library or program that has this code, or in a library of Loupe's that works for it:
/// a part, or what a trainer links beside the host. Any thread, no lock.
LOUPE_SHARED bool is_own(const void* address) noexcept;
/// The same of a loaded library.
bool is_own_library(const dl_phdr_info& library) noexcept;
/// Looks for such libraries again; once one was opened.
void read_own_code() noexcept;

}  // namespace loupe
