#ifndef LOUPE_PLUGINS_FILE_TRUST_H
#define LOUPE_PLUGINS_FILE_TRUST_H

#include <sys/stat.h>

#include <string>

namespace loupe {

/// A plugin runs with all rights of the trainer, so whoever may change it may do what the trainer may. Trusted are
/// root, this process's user, and who may change the running program or Loupe, and so decides what it does anyway.
/// Returns why the file or folder is not to be trusted, with the remedy; empty where it is.
std::string trust_fault(const std::string& path, const struct ::stat& status);

/// The same by its path; a folder that is not there has no fault.
std::string trust_fault(const std::string& path);

}  // namespace loupe

#endif
