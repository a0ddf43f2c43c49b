#pragma once

#include <loupe/files/replacement.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace loupe {
inline namespace v1_0 {

/// How a long text file is compressed. gzip() in <loupe/files/gzip.h> returns one.
struct Compression {
  /// Compresses a text into a complete member; members in sequence are read as one text.
  std::string (*member)(std::string_view text);
  /// Opens a file, compressed or not, to read its text. In a file that is cut off or damaged, the stream is bad() after
  /// the readable part. Throws std::system_error.
  std::unique_ptr<std::istream> (*open)(const std::filesystem::path& file);
  /// Passes a text on as members: one, unless it is too long for a reader, which holds a member's text in memory.
  template <class Write>
  void write_members(std::string_view text, Write&& write) const {
    constexpr std::size_t most = std::size_t{64} << 20;
    for (; !text.empty(); text.remove_prefix(text.size() < most ? text.size() : most))
      write(member(text.substr(0, most)));
  }
  /// Files from this size, in bytes, are long.
  std::uintmax_t long_size = std::uintmax_t{16} << 20;
};

inline bool is_compressed_name(const std::filesystem::path& file) {
  return file.extension() == ".gz";
}

/// The name of a text file after compression.
inline std::filesystem::path compressed_name(const std::filesystem::path& file) {
  return is_compressed_name(file) ? file : std::filesystem::path(file.native() + ".gz");
}

/// The file that holds the text of this name: the compressed one if it exists, else the plain one, which may be
/// missing.
inline std::filesystem::path text_file_at(const std::filesystem::path& file) {
  std::error_code none;
  const std::filesystem::path compressed = compressed_name(file);
  return std::filesystem::exists(compressed, none) ? compressed : file;
}

/// Replaces a text file by a compressed one, a megabyte at a time. At any moment one of the two is complete; if both
/// exist, text_file_at() returns the compressed one. Throws std::system_error, and the text file then stays.
inline void compress_file(const std::filesystem::path& file, const Compression& compression) {
  std::ifstream input(file, std::ios::binary);
  Replacement replacement(compressed_name(file), file);
  for (std::string text(std::size_t{1} << 20, '\0'); input;) {
    input.read(text.data(), static_cast<std::streamsize>(text.size()));
    const std::string_view piece(text.data(), static_cast<std::size_t>(input.gcount()));
    if (!piece.empty()) replacement.write(compression.member(piece));
  }
  if (!input.eof()) throw std::system_error(EIO, std::generic_category());
  constexpr bool sync = true;  // before the text file is removed
  replacement.commit(sync);
  std::error_code no_matter;
  std::filesystem::remove(file, no_matter);
}

}  // namespace v1_0
}  // namespace loupe
