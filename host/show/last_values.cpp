#include "show/last_values.h"

namespace loupe {
namespace {

// No name holds a zero byte.
void put_name(std::string& name, std::string_view tag, std::string_view layer, std::string_view line) {
  name.assign(tag);
  (((name += '\0') += layer) += '\0') += line;
}

}  // namespace

void LastValues::put(std::string_view tag, std::string_view layer, std::string_view line, double value) {
  put_name(name_, tag, layer, line);
  if (expected_ == entries_.size()) expected_ = 0;
  if (expected_ < entries_.size() && entries_[expected_].name == name_) {
    entries_[expected_++].value = value;
    return;
  }
  const auto [found, is_new] = place_of_.try_emplace(name_, entries_.size());
  if (is_new) entries_.push_back({name_, value});
  entries_[found->second].value = value;
  expected_ = found->second + 1;
}

std::optional<double> LastValues::find(std::string_view tag, std::string_view layer, std::string_view line) const {
  std::string name;
  put_name(name, tag, layer, line);
  const auto found = place_of_.find(name);
  if (found == place_of_.end()) return std::nullopt;
  return entries_[found->second].value;
}

}  // namespace loupe
