#pragma once

#include <loupe/error.h>
#include <loupe/files/descriptor.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <istream>
#include <string>
#include <system_error>

namespace loupe {
inline namespace v1_0 {

/// A file that is open to be read. Only regular files are, and what the user hands to the process as /dev/stdin or
/// /dev/fd/63: whoever opens another pipe waits for a writer who may never come.
/// @param flags  further ones for open()
/// Throws std::system_error where the file cannot be opened, Error for a folder, a pipe or a device.
inline int open_readable(const std::filesystem::path& file, int flags = 0) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags);
  if (descriptor < 0) throw last_error();
  struct stat status {};
  const bool is_known = ::fstat(descriptor, &status) == 0;
  if (is_known && S_ISREG(status.st_mode)) return descriptor;
  if (is_known && !S_ISDIR(status.st_mode) && is_system_link(file)) {
    // What comes slowly is waited for.
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
    return descriptor;
  }
  ::close(descriptor);
  throw Error(
      is_known && S_ISDIR(status.st_mode) ? "it is a folder, not a file" : "it is a pipe or a device, not a file",
      LOUPE_INVALID);
}

/// Appends what comes next, at most so many bytes; false at the end. Throws std::system_error.
inline bool read_piece(int descriptor, std::string& text, std::size_t most) {
  const std::size_t before = text.size();
  text.resize(before + most);
  ssize_t count = 0;
  do {
    count = ::read(descriptor, text.data() + before, most);
  } while (count < 0 && errno == EINTR);
  text.resize(before + (count > 0 ? static_cast<std::size_t>(count) : 0));
  if (count < 0) throw last_error();
  return count > 0;
}

/// The first bytes of a file, as open_readable() opens it: so many, and a piece more where there are more.
inline std::string read_beginning(const std::filesystem::path& file, std::size_t count) {
  constexpr std::size_t piece = std::size_t{64} << 10;
  struct Opened {
    int descriptor;
    ~Opened() { ::close(descriptor); }
  } const opened{open_readable(file)};
  std::string text;
  while (text.size() <= count && read_piece(opened.descriptor, text, piece)) {
  }
  return text;
}

/// A whole file. Throws Error where it has more than `most` bytes, too.
inline std::string read_file(const std::filesystem::path& file, std::size_t most) {
  std::string text = read_beginning(file, most);
  if (text.size() <= most) return text;
  throw Error("it is larger than the " + std::to_string(most >> 20) + " MB that such a file may have", LOUPE_INVALID);
}

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
