#pragma once

#include <loupe/abi.h>

namespace loupe {

// What a lens may not tell, however it comes: `loupe check` refuses it, too. Each throws Error.
void check_told(const loupe_tag& tag);
void check_told(const loupe_row& row);
void check_told(const loupe_histogram& histogram);

}  // namespace loupe
