#pragma once

#include <string>

namespace loupe {
inline namespace v1_0 {

/// A text of the boundary, where null stands for none: empty then.
inline std::string text_of(const char* text) {
  return text != nullptr ? text : "";
}

}  // namespace v1_0
}  // namespace loupe
