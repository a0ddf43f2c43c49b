#include "loader/plugin_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <loupe/error.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace loupe {
namespace {

/// The running program, and the library or program that this code is in: whoever may change these needs no plugin.
std::vector<struct ::stat> own_code() {
  static const char here = 0;
  std::vector<struct ::stat> files;
  struct ::stat status {};
  if (::stat("/proc/self/exe", &status) == 0) files.push_back(status);
  ::Dl_info library{};
  const bool known = ::dladdr(&here, &library) != 0 && library.dli_fname != nullptr;
  if (known && ::stat(library.dli_fname, &status) == 0) files.push_back(status);
  return files;
}

bool is_trusted_user(::uid_t user) {
  if (user == 0 || user == ::geteuid()) return true;
  const auto code = own_code();
  return std::any_of(code.begin(), code.end(), [&](const auto& file) { return file.st_uid == user; });
}

/// Whether the group is the owner's alone, as most systems make one for each user: it bears the user's name and has no
/// other members. A group without a name is nobody's.
bool is_private(::gid_t group, ::uid_t owner) {
  if (group == 0) return true;
  std::array<char, 16384> group_text{}, user_text{};
  struct ::group group_entry {};
  struct ::passwd user_entry {};
  struct ::group* found_group = nullptr;
  struct ::passwd* found_user = nullptr;
  ::getgrgid_r(group, &group_entry, group_text.data(), group_text.size(), &found_group);
  ::getpwuid_r(owner, &user_entry, user_text.data(), user_text.size(), &found_user);
  if (found_group == nullptr || found_user == nullptr) return found_group == nullptr && found_user == nullptr;
  if (std::strcmp(found_group->gr_name, found_user->pw_name) != 0) return false;
  for (char** member = found_group->gr_mem; member != nullptr && *member != nullptr; ++member) {
    if (std::strcmp(*member, found_user->pw_name) != 0) return false;
  }
  return true;
}

bool is_trusted_group(::gid_t group, ::uid_t owner) {
  if (is_private(group, owner)) return true;
  const auto code = own_code();
  return std::any_of(code.begin(), code.end(),
                     [&](const auto& file) { return file.st_gid == group && (file.st_mode & S_IWGRP) != 0; });
}

}  // namespace

std::string trust_fault(const std::string& path, const struct ::stat& status) {
  const bool folder = S_ISDIR(status.st_mode);
  const std::string what = folder ? "the plugin folder '" + path + "'" : "the plugin '" + path + "'";
  if (!is_trusted_user(status.st_uid)) {
    return what + " belongs to another user (" + std::to_string(status.st_uid) +
           "), who could have the trainer run anything; make it your own ('chown'), or copy it to a folder of yours";
  }
  // Where the folder is sticky, as /tmp is, others may add files, which are theirs, but change none.
  if (folder && (status.st_mode & S_ISVTX) != 0) return "";
  if ((status.st_mode & S_IWOTH) != 0)
    return what + " may be changed by everyone, who could have the trainer run anything; 'chmod o-w' it";
  if ((status.st_mode & S_IWGRP) != 0 && !is_trusted_group(status.st_gid, status.st_uid))
    return what + " may be changed by a whole group, who could have the trainer run anything; 'chmod g-w' it";
  return "";
}

std::string trust_fault(const std::string& path) {
  struct ::stat status {};
  return ::stat(path.c_str(), &status) == 0 ? trust_fault(path, status) : "";
}

PluginFile::PluginFile(std::string path) : path_(std::move(path)) {
  // Without waiting: a pipe's other end may never be opened.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct ::stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    const std::string reason = std::generic_category().message(errno);
    if (descriptor_ >= 0) ::close(descriptor_);
    throw Error("the plugin '" + path_ + "' cannot be read: " + reason + "; correct its rights");
  }
  std::string fault;
  if (!S_ISREG(status.st_mode)) {
    fault = "'" + path_ + "' is no plugin: it is no regular file; take it out of the plugin path";
  } else {
    fault = trust_fault(path_, status);
  }
  if (!fault.empty()) {
    ::close(descriptor_);
    throw Error(fault);
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

PluginFile::~PluginFile() {
  ::close(descriptor_);
}

void PluginFile::need(std::uint64_t offset, std::uint64_t size) const {
  if (offset > size_ || size > size_ - offset) {
    throw Error("the plugin '" + path_ + "' is cut short: its " + std::to_string(size_) +
                " bytes are fewer than its header says; copy or build it again");
  }
}

std::vector<char> PluginFile::read(std::uint64_t offset, std::uint64_t size) const {
  need(offset, size);
  std::vector<char> bytes(size);
  for (std::size_t done = 0; done < bytes.size();) {
    const ::ssize_t count =
        ::pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<::off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const std::string reason = count < 0 ? std::generic_category().message(errno) : "it became shorter meanwhile";
      throw Error("the plugin '" + path_ + "' cannot be read: " + reason);
    }
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

}  // namespace loupe
