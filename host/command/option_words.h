#pragma once

#include <loupe/abi.h>

#include <string>

// What `loupe describe` and the manual say of a declared option besides its help.
namespace loupe {

/// "integer", "list".
const char* type_word(const loupe_option& option);
/// "; at least 1; at most 10", or nothing. Of more than many_names choices it says that they are listed below.
/// @param named  the last option before it that names a component; null where there is none
std::string limit_words(const loupe_option& option, const loupe_option* named);
/// "default 3", or "required".
std::string default_words(const loupe_option& option);

}  // namespace loupe
