#pragma once

#include <loupe/files/held_signals.h>
#include <loupe/files/shared_output.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace loupe {
inline namespace v1_0 {

inline std::system_error last_error() {
  return std::system_error(errno, std::generic_category());
}

/// Writes all of `text` to a file that was opened with O_NONBLOCK, as Descriptor does. A reader that takes nothing for
/// `patience_ms` counts as an error (EAGAIN), because training must not wait. Throws std::system_error.
inline void write_all(int descriptor, std::string_view text, int patience_ms = output_patience_ms) {
  const FatalSignalsHeld held;
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd wait{descriptor, POLLOUT, 0};
      if (::poll(&wait, 1, patience_ms) == 0) throw std::system_error(EAGAIN, std::generic_category());
    } else if (errno != EINTR) {
      throw last_error();
    }
  }
}

/// Whether a path is one of the system's own links, for example /dev/stdout, which other users cannot create.
inline bool is_system_link(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path();
  return folder == "/dev" || folder == "/dev/fd" || path.native().compare(0, 6, "/proc/") == 0;
}

/// An open file. Throws std::system_error if the system refuses.
class Descriptor {
 public:
  /// Never waits for the other end of a named pipe, never makes a terminal its own, and never follows a link.
  Descriptor(const std::filesystem::path& path, int flags) : Descriptor(AT_FDCWD, path, flags) {}
  /// @param folder an open folder that `path` is relative to
  Descriptor(const Descriptor& folder, const std::filesystem::path& path, int flags)
      : Descriptor(folder.get(), path, flags) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return descriptor_; }
  struct stat status() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) throw last_error();
    return status;
  }
  void sync() const {
    // Devices and pipes have nothing to sync, which gives one of these errors.
    if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) throw last_error();
  }

 private:
  Descriptor(int folder, const std::filesystem::path& path, int flags)
      : descriptor_(
            ::openat(folder, path.c_str(), flags | links(path, flags) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666)) {
    if (descriptor_ < 0) throw last_error();
  }
  static int links(const std::filesystem::path& path, int flags) {
    return (flags & O_ACCMODE) == O_RDONLY || is_system_link(path) ? 0 : O_NOFOLLOW;
  }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  int descriptor_;
};

}  // namespace v1_0
}  // namespace loupe
