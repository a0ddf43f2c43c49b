#ifndef LOUPE_CORE_SUGGESTION_H
#define LOUPE_CORE_SUGGESTION_H

#include <string>
#include <vector>

namespace loupe {

/// "; did you mean 'x'?" for the known name that `name` may be a misspelling of, or "; known are …" when none is near.
std::string suggestion(const std::string& name, const std::vector<std::string>& known);

}  // namespace loupe

#endif
