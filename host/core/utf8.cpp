#include "core/utf8.h"

#include <loupe/utf8.h>

#include <utility>

namespace loupe {

void make_utf8(std::string& text) {
  text = valid_utf8(text);
}

std::string utf8(std::string text) {
  make_utf8(text);
  return text;
}

}  // namespace loupe
