#pragma once

// Code that includes this must link zlib.

#include <loupe/detail/zlib_step.h>
#include <loupe/error.h>
#include <loupe/files/compression.h>
#include <loupe/files/readable.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>

namespace loupe {
inline namespace v1_0 {

/// Reads a text file in pieces, compressed or not, also while it grows. A compressed file is read one member at a time,
/// each complete and checked. Use it on one thread.
class TextPieces {
 public:
  /// How far a file was read.
  struct Place {
    std::uint64_t position = 0;  ///< offset in the file, in bytes
    std::string before;          ///< the file's last bytes before that
    bool compressed = false;
  };

  /// Opens text_file_at(name) as open_readable() does, and throws what that throws.
  explicit TextPieces(const std::filesystem::path& name, int flags = 0) {
    try {
      open(name, flags);
    } catch (const std::system_error& reason) {
      if (reason.code() != std::errc::no_such_file_or_directory) throw;
      // The plain file may have been removed meanwhile, once the compressed one was complete.
      open(name, flags);
    }
  }
  ~TextPieces() {
    if (has_stream_) inflateEnd(&stream_);
    ::close(descriptor_);
  }
  TextPieces(const TextPieces&) = delete;
  TextPieces& operator=(const TextPieces&) = delete;

  /// The next piece, valid until the next call; empty at the current end of the file. An incomplete member is left for
  /// later. Throws Error if the file is damaged, std::system_error if it cannot be read.
  std::string& next() {
    cut_off_ = false;
    text_.clear();
    if (unread().empty() && !fill()) return text_;
    if (position_ == 0) compressed_ = raw_[0] == '\x1f';  // which no text contains
    if (compressed_) {
      while (text_.empty() && (!unread().empty() || fill()) && inflate_member()) {
      }
    } else {
      text_ = unread();
      position_ += text_.size();
      used_ = raw_.size();
    }
    return text_;
  }
  /// Whether the file ended within a member when next() was called last.
  bool is_cut_off() const { return cut_off_; }

  const std::filesystem::path& file() const { return file_; }
  struct stat status() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) throw last_error();
    return status;
  }
  /// The position of the next piece, in a regular file.
  Place place() const {
    constexpr std::uint64_t most = 256;
    return {position_, bytes_before(position_, std::min(position_, most)), compressed_};
  }
  /// Continues from a place; call it before reading. False, without moving, if the file is a different one.
  bool go_on(const Place& place) {
    if (bytes_before(place.position, place.before.size()) != place.before) return false;
    position_ = place.position;
    compressed_ = place.compressed;
    seek();
    return true;
  }

 private:
  // A megabyte of gzip can expand to a gigabyte of text; EpochFile limits the size of a member.
  static constexpr std::size_t most_raw = std::size_t{256} << 10, most_text = std::size_t{128} << 20;

  void open(const std::filesystem::path& name, int flags) {
    file_ = text_file_at(name);
    descriptor_ = open_readable(file_, flags);
  }

  std::string_view unread() const { return std::string_view(raw_).substr(used_); }

  bool fill() {
    raw_.clear();
    used_ = 0;
    return read_piece(descriptor_, raw_, most_raw);
  }

  std::string bytes_before(std::uint64_t position, std::size_t count) const {
    std::string bytes(count, '\0');
    const ssize_t read = ::pread(descriptor_, bytes.data(), count, static_cast<off_t>(position - count));
    bytes.resize(read > 0 ? static_cast<std::size_t>(read) : 0);
    return bytes;
  }

  void seek() {
    raw_.clear();
    used_ = 0;
    if (::lseek(descriptor_, static_cast<off_t>(position_), SEEK_SET) < 0 && errno != ESPIPE) throw last_error();
  }

  /// Whether another member begins after this one. Then a member without an end is damaged, not cut off.
  bool is_followed() const {
    constexpr std::string_view head("\x1f\x8b\x08\0\0\0\0\0", 8);
    std::string bytes(most_raw, '\0');
    for (std::uint64_t position = position_ + 1;; position += bytes.size() - head.size()) {
      const ssize_t count = ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(position));
      if (count <= static_cast<ssize_t>(head.size())) return false;
      if (std::string_view(bytes.data(), static_cast<std::size_t>(count)).find(head) != std::string_view::npos)
        return true;
    }
  }

  /// False if the file ends within the member.
  bool inflate_member() {
    const bool ready =
        has_stream_ ? inflateReset(&stream_) == Z_OK : inflateInit2(&stream_, detail::gzip_window) == Z_OK;
    if (!ready) throw std::bad_alloc();
    has_stream_ = true;
    std::uint64_t taken = 0;
    for (;;) {
      std::string_view rest = unread();
      detail::lend(stream_, rest);
      const int result =
          detail::step_into(text_, stream_, [](z_stream& stream) { return inflate(&stream, Z_NO_FLUSH); });
      const std::size_t used = raw_.size() - stream_.avail_in;
      taken += used - used_;
      used_ = used;
      if (result == Z_STREAM_END) break;
      if (result == Z_MEM_ERROR) throw std::bad_alloc();
      const bool is_bomb = text_.size() > most_text;
      const bool goes_on = (result == Z_OK || result == Z_BUF_ERROR) && !is_bomb;
      if (goes_on && (!unread().empty() || stream_.avail_out == 0 || fill())) continue;
      text_.clear();
      seek();
      cut_off_ = goes_on && !is_followed();
      if (cut_off_) return false;
      if (is_bomb) {
        throw Error("after byte " + std::to_string(position_) + " of the file, a small part expands to more than " +
                    std::to_string(most_text >> 20) + " MB, which Loupe never writes; the rest is left out");
      }
      throw Error("the compressed data is damaged after byte " + std::to_string(position_) +
                  " of the file, and the rest is lost");
    }
    position_ += taken;
    return true;
  }

  std::filesystem::path file_;
  int descriptor_ = -1;
  std::string raw_, text_;
  std::size_t used_ = 0;        // of raw_
  std::uint64_t position_ = 0;  // after the last piece
  bool compressed_ = false, cut_off_ = false, has_stream_ = false;
  z_stream stream_{};
};

}  // namespace v1_0
}  // namespace loupe
