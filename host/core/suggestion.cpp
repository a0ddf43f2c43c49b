#include "core/suggestion.h"

#include <loupe/text/nearest.h>

#include <algorithm>

namespace loupe {

std::string in_columns(const std::vector<std::string>& names, std::size_t width, std::size_t indent) {
  constexpr std::size_t gap = 2;
  std::size_t longest = 0;
  for (const std::string& each : names) longest = std::max(longest, each.size());
  const std::size_t room = width > indent ? width - indent + gap : gap;
  const std::size_t columns = std::max<std::size_t>(1, room / (longest + gap));
  std::string text;
  for (std::size_t at = 0; at < names.size(); ++at) {
    const bool begins_line = at % columns == 0, ends_line = at % columns == columns - 1 || at + 1 == names.size();
    if (begins_line) text += (at == 0 ? "" : "\n") + std::string(indent, ' ');
    text += names[at];
    if (!ends_line) text += std::string(longest - names[at].size() + gap, ' ');
  }
  return text;
}

std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
  if (known.empty()) return "; there are none";
  if (const std::string near = nearest(name, known); !near.empty()) return "; did you mean '" + near + "'?";
  if (known.size() > many_names) {
    constexpr std::size_t width = 80, indent = 2;
    return "; known are:\n" + in_columns(known, width, indent);
  }
  std::string list;
  for (const std::string& each : known) list += (list.empty() ? "" : ", ") + each;
  return (known.size() == 1 ? "; the only one is: " : "; known are: ") + list;
}

}  // namespace loupe
