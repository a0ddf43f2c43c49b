#ifndef LOUPE_COMMAND_TEMPLATES_H
#define LOUPE_COMMAND_TEMPLATES_H

#include <map>
#include <string>

namespace loupe {

/// The files of host/new by their names there, such as "lens.cpp.in".
const std::map<std::string, std::string>& new_templates();

}  // namespace loupe

#endif
