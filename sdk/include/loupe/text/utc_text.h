#pragma once

#include <ctime>
#include <string>

namespace loupe {
inline namespace v1_0 {

/// A time in seconds since 1970, such as loupe_moment.time, as ISO 8601 in UTC: "2024-05-01T12:00:00Z".
inline std::string utc_text(double time) {
  const auto seconds = static_cast<std::time_t>(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace v1_0
}  // namespace loupe
