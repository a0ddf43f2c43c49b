#pragma once

#include <loupe/abi.h>
#include <loupe/text/text_of.h>

#include <cstdint>
#include <string>

namespace loupe {
inline namespace v1_0 {

/// A finding's message with where in the program's source to look: "the output is NaN (net.cpp:120)".
inline std::string message_with_place(const std::string& message, const std::string& file, uint32_t line) {
  if (file.empty()) return message;
  return message + " (" + file + (line > 0 ? ":" + std::to_string(line) : "") + ")";
}
inline std::string message_with_place(const loupe_finding& finding) {
  return message_with_place(text_of(finding.message), text_of(finding.file), finding.line);
}

}  // namespace v1_0
}  // namespace loupe
