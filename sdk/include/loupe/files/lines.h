#pragma once

#include <array>
#include <cstddef>
#include <istream>
#include <string>

namespace loupe {
inline namespace v1_0 {

/// No line of a file that Loupe writes comes near this. A longer one is of another kind of file, or of a damaged one,
/// and may go on for as long as a disk is large.
inline constexpr std::size_t longest_line = std::size_t{64} << 20;

inline bool is_too_long(const std::string& line) {
  return line.size() > longest_line;
}
/// What to say of a line that is.
inline constexpr const char* too_long = "this line is longer than 64 MB, which no line of such a file is";

/// What std::getline does, for files that may hold anything: also false at a line that is_too_long(), of which `line`
/// then has the beginning.
inline bool read_line(std::istream& input, std::string& line) {
  std::array<char, 4096> piece;
  line.clear();
  while (!is_too_long(line)) {
    input.getline(piece.data(), piece.size());
    const auto count = static_cast<std::size_t>(input.gcount());
    if (input.good()) {  // the line's end was taken and not stored
      line.append(piece.data(), count - 1);
      return true;
    }
    line.append(piece.data(), count);
    const bool is_full = count + 1 == piece.size();
    if (input.bad() || !is_full || input.eof()) return !input.bad() && !line.empty();
    input.clear();
  }
  input.setstate(std::ios::failbit);
  return false;
}

}  // namespace v1_0
}  // namespace loupe
