#pragma once

#include <loupe/text/nearest.h>

#include <string>
#include <vector>

namespace loupe::replay {

/// "; did you mean 'x'?" for a known name near `name`, or "; known are: …".
inline std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
  if (const std::string near = nearest(name, known); !near.empty()) return "; did you mean '" + near + "'?";
  std::string all;
  for (const std::string& each : known) all += (all.empty() ? "; known are: " : ", ") + each;
  return all;
}

}  // namespace loupe::replay
