#pragma once

#include <map>
#include <string>

namespace loupe::view {

/// The files of host/view/page by their names, put into the program when it is built.
const std::map<std::string, std::string>& page_files();

}  // namespace loupe::view
