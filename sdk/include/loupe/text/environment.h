#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>

namespace loupe {
inline namespace v1_0 {

/// The integer in an environment variable; none if it has none, or one outside the bounds: anything may be set there,
/// and a huge number would cost memory or time.
inline std::optional<std::int64_t> number_in_environment(const char* variable, std::int64_t least, std::int64_t most) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const char* const end = text + std::strlen(text);
  std::int64_t number = 0;
  const auto read = std::from_chars(text, end, number);
  if (read.ec != std::errc() || read.ptr != end || number < least || number > most) return std::nullopt;
  return number;
}

/// The width of a terminal from the variable COLUMNS, if the terminal does not report it.
inline std::optional<std::int64_t> columns_in_environment() {
  constexpr std::int64_t most = 1000;
  return number_in_environment("COLUMNS", 1, most);
}

}  // namespace v1_0
}  // namespace loupe
