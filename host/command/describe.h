#ifndef LOUPE_COMMAND_DESCRIBE_H
#define LOUPE_COMMAND_DESCRIBE_H

#include <iosfwd>
#include <string>

#include "core/catalogue.h"

namespace loupe {

/// A line a component, by kind: name, what it is, the file it is from.
void list_components(const Catalogue& catalogue, std::ostream& out);

/// Every component of that name (or the configuration's own keys, for "config") with its options. False, and a message
/// to `errors`, when there is none.
bool describe_component(const Catalogue& catalogue, const std::string& name, std::ostream& out, std::ostream& errors);

}  // namespace loupe

#endif
