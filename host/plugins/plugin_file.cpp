#include "plugins/plugin_file.h"

#include <loupe/error.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "plugins/file_trust.h"

namespace loupe {

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

std::vector<char> PluginFile::read(std::uint64_t offset, std::uint64_t size) const {
  if (offset > size_ || size > size_ - offset) {
    throw Error("the plugin '" + path_ + "' is cut short: its " + std::to_string(size_) +
                " bytes are fewer than its header tells of; copy or build it again");
  }
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
