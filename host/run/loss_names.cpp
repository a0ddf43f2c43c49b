#include "run/loss_names.h"

#include <algorithm>

namespace loupe {

LossNames::Named LossNames::of(const void* place) {
  auto found = std::find(places_.begin(), places_.end(), place);
  const bool is_new = found == places_.end();
  if (is_new && places_.size() == most_places) return {"", false};
  if (is_new) found = places_.insert(places_.end(), place);
  const auto index = static_cast<std::size_t>(found - places_.begin());
  const auto main = static_cast<std::size_t>(
      std::find_if(given_.begin(), given_.end(), [](const std::string& name) { return name != "-"; }) - given_.begin());
  if (index < given_.size()) return {given_[index] == "-" ? "" : given_[index], index == main, is_new};
  return {index == 0 ? first_ : first_ + "#" + std::to_string(index + 1), index == main, is_new};
}

}  // namespace loupe
