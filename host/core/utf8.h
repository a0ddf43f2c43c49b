#ifndef LOUPE_CORE_UTF8_H
#define LOUPE_CORE_UTF8_H

#include <string>

namespace loupe {

/// Replaces every byte that is no part of valid UTF-8 by U+FFFD: names of models may hold any bytes, and what crosses
/// the boundary may not.
void make_utf8(std::string& text);
std::string utf8(std::string text);

}  // namespace loupe

#endif
