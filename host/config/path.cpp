#include "config/path.h"

#include <loupe/error.h>

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace loupe {
namespace {

namespace fs = std::filesystem;

fs::path home_folder() {
  // As the shell has it; a program that runs with another's rights takes that one's.
  if (const char* home = ::secure_getenv("HOME"); home != nullptr && *home == '/') return home;
  const struct ::passwd* user = ::getpwuid(::geteuid());
  if (user == nullptr || user->pw_dir == nullptr || *user->pw_dir != '/')
    throw Error("'~' stands for no folder: this user has none; write the whole path");
  return user->pw_dir;
}

}  // namespace

std::string full_path(const std::string& written, const std::string& folder) {
  if (written.empty()) return folder;
  fs::path path = written;
  if (written == "~" || written.rfind("~/", 0) == 0) {
    path = home_folder() / fs::path(written).lexically_relative("~");
  } else if (written.rfind('~', 0) == 0) {
    throw Error("'" + written +
                "' begins with another user's home folder, which is not looked up; write the whole "
                "path, or './" +
                written + "' if that is its name");
  }
  return (fs::path(folder) / path).lexically_normal().string();
}

std::string working_folder() {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  return error ? "" : here.string();  // it may have been removed; then paths stay relative
}

}  // namespace loupe
