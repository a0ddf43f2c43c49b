#include "core/suggestion.h"

#include <loupe/text/nearest.h>

namespace loupe {

std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
  if (known.empty()) return "; there are none";
  if (const std::string near = nearest(name, known); !near.empty()) return "; did you mean '" + near + "'?";
  std::string list;
  for (const std::string& each : known) list += (list.empty() ? "" : ", ") + each;
  return (known.size() == 1 ? "; the only one is: " : "; known are: ") + list;
}

}  // namespace loupe
