#ifndef LOUPE_COMMAND_DESCRIBE_H
#define LOUPE_COMMAND_DESCRIBE_H

#include <iosfwd>
#include <string>

#include "plugins/catalogue.h"

namespace loupe {

/// A line a component, by kind: name, what it is, the file it is from.
void list_components(const Catalogue& catalogue, std::ostream& out);

/// Every plugin by file: name, version, description, author, license and homepage, as far as it tells them.
void list_plugins(const Catalogue& catalogue, std::ostream& out);

/// Every component of that name (or the configuration's own keys, for "config") with its options, what it
/// gives and an example. False, and a message
/// to `errors`, when there is none.
bool describe_component(const Catalogue& catalogue, const std::string& name, std::ostream& out, std::ostream& errors);

}  // namespace loupe

#endif
