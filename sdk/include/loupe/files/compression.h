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

/// How a text file is compressed that has become long. gzip() in <loupe/files/gzip.h> is one.
struct Compression {
  /// Compresses a text into what stands alone: such members behind one another are read as one text.
  std::string (*member)(std::string_view text);
  /// Opens a file, compressed or not, to read its text. The stream is bad() behind what can be read of a file that was
  /// cut off or is damaged. Throws std::system_error.
  std::unique_ptr<std::istream> (*open)(const std::filesystem::path& file);
  /// Hands on a text as members: one, unless it is too long for a reader, who holds a member's text whole.
  template <class Write>
  void write_members(std::string_view text, Write&& write) const {
    constexpr std::size_t most = std::size_t{64} << 20;
    for (; !text.empty(); text.remove_prefix(text.size() < most ? text.size() : most))
      write(member(text.substr(0, most)));
  }
  /// A file of so many bytes is a long one.
  std::uintmax_t long_size = std::uintmax_t{16} << 20;
};

inline bool is_compressed_name(const std::filesystem::path& file) {
  return file.extension() == ".gz";
}

/// The name of a text file once it is compressed.
inline std::filesystem::path compressed_name(const std::filesystem::path& file) {
  return is_compressed_name(file) ? file : std::filesystem::path(file.native() + ".gz");
}

/// The file that holds the text of this name: the compressed one where there is one, else the one of the name itself,
/// whether or not that is there.
inline std::filesystem::path text_file_at(const std::filesystem::path& file) {
  std::error_code none;
  const std::filesystem::path compressed = compressed_name(file);
  return std::filesystem::exists(compressed, none) ? compressed : file;
}

/// Puts a compressed file in the place of a text file, a megabyte at a time. At each moment one of the two is whole;
/// where both are there, the compressed one is what text_file_at() gives. Throws std::system_error, and the text file
/// then stands.
inline void compress_file(const std::filesystem::path& file, const Compression& compression) {
  std::ifstream input(file, std::ios::binary);
  Replacement replacement(compressed_name(file), file);
  for (std::string text(std::size_t{1} << 20, '\0'); input;) {
    input.read(text.data(), static_cast<std::streamsize>(text.size()));
    const std::string_view piece(text.data(), static_cast<std::size_t>(input.gcount()));
    if (!piece.empty()) replacement.write(compression.member(piece));
  }
  if (!input.eof()) throw std::system_error(EIO, std::generic_category());
  constexpr bool sync = true;  // before the text file goes
  replacement.commit(sync);
  std::error_code no_matter;
  std::filesystem::remove(file, no_matter);
}

}  // namespace v1_0
}  // namespace loupe
