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
  if (expected_ == order_.size()) expected_ = 0;
  if (expected_ < order_.size() && order_[expected_]->first == name_) {
    order_[expected_++]->second.value = value;
    return;
  }
  const auto [found, is_new] = values_.try_emplace(name_, Last{value, order_.size()});
  if (is_new) order_.push_back(&*found);
  found->second.value = value;
  expected_ = found->second.place + 1;
}

std::optional<double> LastValues::find(std::string_view tag, std::string_view layer, std::string_view line) const {
  std::string name;
  put_name(name, tag, layer, line);
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  return found->second.value;
}

}  // namespace loupe
