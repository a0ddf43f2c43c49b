#include "run/loss_names.h"

#include <algorithm>

namespace loupe {
namespace {

std::string numbered(const std::string& name, std::size_t number) {
  return number == 1 ? name : name + "#" + std::to_string(number);
}

}  // namespace

std::vector<LossNames::Place>::iterator LossNames::find(const void* place) {
  const auto joined =
      std::find_if(joined_.begin(), joined_.end(), [&](const auto& each) { return each.first == place; });
  if (joined != joined_.end()) place = joined->second;
  return std::find_if(places_.begin(), places_.end(), [&](const Place& each) { return each.address == place; });
}

LossNames::Named LossNames::of(const void* place) {
  auto found = find(place);
  const bool is_new = found == places_.end();
  if (is_new && places_.size() == most_places) return {"", false};
  const auto index = static_cast<std::size_t>(found - places_.begin());
  if (is_new) {
    std::string name = numbered(first_, index + 1);
    if (index < given_.size()) name = given_[index] == "-" ? "" : given_[index];
    found = places_.insert(places_.end(), {place, std::move(name)});
  }
  const auto main = static_cast<std::size_t>(
      std::find_if(given_.begin(), given_.end(), [](const std::string& name) { return name != "-"; }) - given_.begin());
  return {found->name, index == main, is_new};
}

bool LossNames::is_numbered(const void* place) {
  const auto found = find(place);
  return found != places_.end() && static_cast<std::size_t>(found - places_.begin()) >= given_.size();
}

std::string LossNames::call(const void* place, const std::string& name) {
  const auto is_taken = [&](const std::string& wanted) {
    return std::any_of(places_.begin(), places_.end(),
                       [&](const Place& each) { return each.address != place && each.name == wanted; });
  };
  std::size_t number = 1;
  while (is_taken(numbered(name, number))) ++number;
  return find(place)->name = numbered(name, number);
}

}  // namespace loupe
