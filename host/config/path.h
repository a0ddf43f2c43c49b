#pragma once

#include <string>

namespace loupe {

/// The absolute path that a configuration's text stands for: '~/' is the home folder, a relative path starts at
/// `folder`, which is absolute and stands for an empty one. Throws Error for '~name', and where there is no home
/// folder.
std::string full_path(const std::string& written, const std::string& folder);

/// The working directory of now; the trainer may change it later.
std::string working_folder();

}  // namespace loupe
