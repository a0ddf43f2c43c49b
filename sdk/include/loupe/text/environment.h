#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>

namespace loupe {
inline namespace v1_0 {

/// The whole number that an environment variable says; none where it says none, or one that is not within the bounds:
/// anything may stand there, and what is made of a number costs memory or time.
inline std::optional<std::int64_t> number_in_environment(const char* variable, std::int64_t least, std::int64_t most) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const char* const end = text + std::strlen(text);
  std::int64_t number = 0;
  const auto read = std::from_chars(text, end, number);
  if (read.ec != std::errc() || read.ptr != end || number < least || number > most) return std::nullopt;
  return number;
}

/// What a terminal that does not say so itself has, by the variable COLUMNS.
inline std::optional<std::int64_t> columns_in_environment() {
  constexpr std::int64_t most = 1000;
  return number_in_environment("COLUMNS", 1, most);
}

}  // namespace v1_0
}  // namespace loupe
