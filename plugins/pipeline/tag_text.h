#pragma once

#include <loupe/error.h>

#include <string>
#include <utility>
#include <vector>

namespace loupe {

/// The text with each {name} replaced by its value, and without the spaces that an empty value leaves behind. Throws
/// Error for a name that there is none of.
inline std::string tag_text(const std::string& text, const std::vector<std::pair<std::string, std::string>>& values) {
  std::string filled;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text[i] == '{' ? text.find('}', i) : std::string::npos;
    if (end == std::string::npos) {
      filled += text[i];
      continue;
    }
    const std::string name = text.substr(i + 1, end - i - 1);
    bool known = false;
    for (const auto& [key, value] : values) {
      if (key != name) continue;
      filled += value;
      known = true;
    }
    if (!known) {
      throw Error("the tag '" + text + "' has '{" + name + "}', where only {gather}, {preprocess}, {parameter} and " +
                      "{series} are known",
                  LOUPE_INVALID);
    }
    i = end;
  }
  std::string tidy;
  for (const char letter : filled) {
    if (letter != ' ' || (!tidy.empty() && tidy.back() != ' ')) tidy += letter;
  }
  if (!tidy.empty() && tidy.back() == ' ') tidy.pop_back();
  return tidy;
}

}  // namespace loupe
