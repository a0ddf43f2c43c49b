#include "show/held_tick.h"

#include <unordered_map>
#include <utility>

namespace loupe {
namespace {

std::string text(const char* part) {
  return part != nullptr ? part : "";
}

/// Of a plot of its own the layer is the tag, or none.
std::string plot_of(const char* tag, const char* layer) {
  const std::string name = text(tag);
  return name + '\n' + (text(layer) == name ? "" : text(layer)) + '\n';
}

std::string line_of(const loupe_value& value) {
  return plot_of(value.tag, value.layer) + text(value.line);
}
std::string line_of(const loupe_range& range) {
  return plot_of(range.tag, range.layer) + text(range.low_name) + '\n' + text(range.high_name);
}
std::string line_of(const loupe_histogram& histogram) {
  return plot_of(histogram.tag, histogram.layer) + text(histogram.line);
}

std::string key_of(const HeldTick::Told& told) {
  return std::to_string(told.index()) + std::visit([](const auto& owned) { return line_of(owned->get()); }, told);
}

}  // namespace

void HeldTick::take_over(HeldTick&& other) {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < told_.size(); ++i) places.emplace(key_of(told_[i]), i);
  for (Told& told : other.told_) {
    const auto place = places.find(key_of(told));
    if (place != places.end()) {
      told_[place->second] = std::move(told);
    } else {
      told_.push_back(std::move(told));
    }
  }
  other.told_.clear();
}

void HeldTick::each_value(const std::function<void(const loupe_value&)>& call) const {
  for (const Told& told : told_) {
    if (const auto* value = std::get_if<std::unique_ptr<detail::Owned<loupe_value>>>(&told)) call((*value)->get());
  }
}

}  // namespace loupe
