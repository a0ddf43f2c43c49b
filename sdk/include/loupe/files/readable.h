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

/// Opens a file for reading. Accepts only regular files, and the pipes /dev/stdin and /dev/fd/63 that the user passes
/// to the process: opening another pipe would wait for a writer, perhaps forever.
/// @param flags  additional flags for open()
/// Throws std::system_error if the file cannot be opened, Error for a folder, a pipe or a device.
inline int open_readable(const std::filesystem::path& file, int flags = 0) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags);
  if (descriptor < 0) throw last_error();
  struct stat status {};
  const bool is_known = ::fstat(descriptor, &status) == 0;
  if (is_known && S_ISREG(status.st_mode)) return descriptor;
  if (is_known && !S_ISDIR(status.st_mode) && is_system_link(file)) {
    // Wait for slow input.
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
    return descriptor;
  }
  ::close(descriptor);
  throw Error(
      is_known && S_ISDIR(status.st_mode) ? "it is a folder, not a file" : "it is a pipe or a device, not a file",
      LOUPE_INVALID);
}

/// Appends the next bytes, at most `most`; false at the end. Throws std::system_error.
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

/// The first `count` bytes of a file, opened by open_readable(), and up to one more piece.
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

/// A whole file. Also throws Error if it has more than `most` bytes.
inline std::string read_file(const std::filesystem::path& file, std::size_t most) {
  std::string text = read_beginning(file, most);
  if (text.size() <= most) return text;
  throw Error("it is larger than " + std::to_string(most >> 20) + " MB, the limit for such a file", LOUPE_INVALID);
}

/// Lines in Loupe's files are far shorter than this. A longer line means another kind of file, or a damaged one, and
/// may be as long as the disk is large.
inline constexpr std::size_t longest_line = std::size_t{64} << 20;

inline bool is_too_long(const std::string& line) {
  return line.size() > longest_line;
}
/// The message for such a line.
inline constexpr const char* too_long = "this line is longer than 64 MB, which no line of such a file is";

/// Like std::getline, but safe for any file: also false at a line that is_too_long(); then `line` has its beginning.
inline bool read_line(std::istream& input, std::string& line) {
  std::array<char, 4096> piece;
  line.clear();
  while (!is_too_long(line)) {
    input.getline(piece.data(), piece.size());
    const auto count = static_cast<std::size_t>(input.gcount());
    if (input.good()) {  // the newline was consumed and not stored
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
