#include "ranks/rank_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <loupe/detail/random_number.h>
#include <loupe/error.h>
#include <loupe/files/descriptor.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace loupe {
namespace {

namespace fs = std::filesystem;

std::string permissions_text(mode_t mode) {
  std::string digits = "0000";
  for (int i = 3; i >= 0; --i, mode >>= 3) digits[static_cast<std::size_t>(i)] = static_cast<char>('0' + (mode & 7));
  return digits;
}

/// Creates the folder for this user only, if it is missing. An existing one may belong to somebody else.
Descriptor open_private_folder(const Descriptor& parent, const std::string& name) {
  if (::mkdirat(parent.get(), name.c_str(), 0700) != 0 && errno != EEXIST) throw last_error();
  return Descriptor(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

class FolderStore final : public RankStore {
 public:
  FolderStore(const std::string& parent, std::string name)
      : name_(std::move(name)),
        path_(parent + "/" + name_),
        parent_(parent, O_RDONLY | O_DIRECTORY),
        folder_(open_private_folder(parent_, name_)) {
    const struct stat status = folder_.status();
    if (status.st_uid == ::geteuid() && (status.st_mode & 0077) == 0) return;
    throw Error("'" + path_ + "' must be a private folder of this user, but has the owner " +
                std::to_string(status.st_uid) + " and the mode " + permissions_text(status.st_mode & 07777) +
                ": remove it, or name another folder by ranks.store");
  }

  void put(const std::string& box, const std::string& key, const std::string& bytes) override {
    const std::string file = file_of(box, key), fresh = ".new-" + random_ + "-" + std::to_string(next_++);
    try {
      write(fresh, bytes);
      if (::renameat(folder_.get(), fresh.c_str(), folder_.get(), file.c_str()) != 0) throw last_error();
    } catch (const std::system_error& reason) {
      ::unlinkat(folder_.get(), fresh.c_str(), 0);
      if (folder_.status().st_nlink == 0) throw Error("rank 0 has ended");
      throw Error("'" + path_ + "' cannot be written to: " + reason.code().message());
    }
  }

  std::optional<std::string> read(const std::string& box, const std::string& key) override {
    const std::string name = file_of(box, key);
    try {
      return contents_of(Descriptor(folder_, name, O_RDONLY | O_NOFOLLOW));
    } catch (const std::system_error& reason) {
      if (reason.code() == std::errc::no_such_file_or_directory) return std::nullopt;
      throw Error("'" + path_ + "/" + name + "' cannot be read: " + reason.code().message());
    }
  }

  void remove(const std::string& box, const std::string& key) override {
    ::unlinkat(folder_.get(), file_of(box, key).c_str(), 0);
  }

  void remove_all() override {
    constexpr int most_tries = 20;  // other processes may still write
    for (int tries = 0; tries < most_tries; ++tries) {
      for (const std::string& file : files()) {
        if (::unlinkat(folder_.get(), file.c_str(), 0) != 0) ::unlinkat(folder_.get(), file.c_str(), AT_REMOVEDIR);
      }
      if (::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR) == 0 || errno != ENOTEMPTY) return;
    }
  }

 private:
  static std::string file_of(const std::string& box, const std::string& key) { return box + "," + key; }

  void write(const std::string& file, const std::string& bytes) {
    const Descriptor output(folder_, file, O_WRONLY | O_CREAT | O_EXCL);
    if (::fchmod(output.get(), 0600) != 0) throw last_error();
    write_all(output.get(), bytes);
  }

  static std::string contents_of(const Descriptor& file) {
    const struct stat status = file.status();
    if (!S_ISREG(status.st_mode)) throw std::system_error(EINVAL, std::generic_category(), "no file");
    if (static_cast<std::size_t>(status.st_size) > longest_rank_message)
      throw std::system_error(EFBIG, std::generic_category());
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t length = 0;
    while (length < bytes.size()) {
      const ssize_t read = ::read(file.get(), bytes.data() + length, bytes.size() - length);
      if (read < 0 && errno == EINTR) continue;
      if (read < 0) throw last_error();
      if (read == 0) break;
      length += static_cast<std::size_t>(read);
    }
    bytes.resize(length);
    return bytes;
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    const int descriptor = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return names;
    DIR* const listing = ::fdopendir(descriptor);
    if (listing == nullptr) {
      ::close(descriptor);
      return names;
    }
    while (const dirent* each = ::readdir(listing)) {
      if (std::strcmp(each->d_name, ".") != 0 && std::strcmp(each->d_name, "..") != 0) names.emplace_back(each->d_name);
    }
    ::closedir(listing);
    return names;
  }

  const std::string name_, path_;
  const Descriptor parent_, folder_;
  const std::string random_ = std::to_string(detail::random_number());
  std::size_t next_ = 0;
};

bool is_own_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & 0022) == 0;
}

}  // namespace

OpenRankStore store_in_folder(const std::string& parent, const std::string& name) {
  return [parent, name]() -> std::unique_ptr<RankStore> {
    try {
      fs::create_directories(parent);
      return std::make_unique<FolderStore>(parent, name);
    } catch (const std::system_error& reason) {
      throw Error("the folder of the ranks '" + parent + "/" + name +
                  "' cannot be created: " + reason.code().message());
    }
  };
}

std::string parent_of_meeting_folder() {
  const char* const own = std::getenv("XDG_RUNTIME_DIR");
  if (own != nullptr && own[0] == '/' && is_own_folder(own)) return own;
  std::error_code none;
  const fs::path temporary = fs::temp_directory_path(none);
  return none ? "/tmp" : temporary.string();
}

}  // namespace loupe
