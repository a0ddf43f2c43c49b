#include "show/last_values.h"

#include <cmath>
#include <utility>

namespace loupe {
namespace {

// No name contains a zero byte.
void put_name(std::string& name, std::string_view tag, std::string_view layer, std::string_view line) {
  name.assign(tag);
  (((name += '\0') += layer) += '\0') += line;
}

}  // namespace

LastValues::Put LastValues::renew(Last& last, double value) const {
  if (std::exchange(last.tick, tick_) == tick_) {
    const bool is_same = last.value == value || (std::isnan(last.value) && std::isnan(value));
    return is_same ? Put::same : Put::other;
  }
  last.value = value;
  return Put::first;
}

LastValues::Put LastValues::put(std::string_view tag, std::string_view layer, std::string_view line, double value) {
  put_name(name_, tag, layer, line);
  if (expected_ == order_.size()) expected_ = 0;
  if (expected_ < order_.size() && order_[expected_]->first == name_) {
    return renew(order_[expected_++]->second, value);
  }
  const auto [found, is_new] = values_.try_emplace(name_, Last{value, order_.size(), tick_});
  if (is_new) order_.push_back(&*found);
  expected_ = found->second.place + 1;
  return is_new ? Put::first : renew(found->second, value);
}

std::optional<double> LastValues::find(std::string_view tag, std::string_view layer, std::string_view line) const {
  std::string name;
  put_name(name, tag, layer, line);
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  return found->second.value;
}

}  // namespace loupe
