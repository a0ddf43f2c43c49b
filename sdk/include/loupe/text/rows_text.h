#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace loupe {
inline namespace v1_0 {

/// A list of rows out of `count`, for people: "in rows 3 and 17 of 32 (from 0)", "in 12 of 32 rows, such as 3 (from
/// 0)", "in all 32 rows".
inline std::string rows_text(const std::vector<int64_t>& rows, int64_t count) {
  constexpr std::size_t few = 3;
  if (static_cast<int64_t>(rows.size()) == count) return "in all " + std::to_string(count) + " rows";
  const std::string of = " of " + std::to_string(count);
  if (rows.size() > few)
    return "in " + std::to_string(rows.size()) + of + " rows, such as " + std::to_string(rows[0]) + " (from 0)";
  std::string text = rows.size() == 1 ? "in row " : "in rows ";
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += (i == 0 ? "" : i + 1 == rows.size() ? " and " : ", ") + std::to_string(rows[i]);
  return text + of + " (from 0)";
}

}  // namespace v1_0
}  // namespace loupe
