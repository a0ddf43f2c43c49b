#include "show/held_tick.h"

#include <algorithm>
#include <cstring>
#include <new>
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

/// Empty for what is none of a plot's.
std::string key_of(const HeldTick::Told& told) {
  const std::string kind = std::to_string(told.index());
  if (const auto* value = std::get_if<const loupe_value*>(&told)) return kind + line_of(**value);
  if (const auto* range = std::get_if<const loupe_range*>(&told)) return kind + line_of(**range);
  if (const auto* histogram = std::get_if<HeldTick::Histogram>(&told)) return kind + line_of((*histogram)->get());
  return "";
}

}  // namespace

void* Blocks::take(std::size_t size, std::size_t alignment) {
  constexpr std::size_t block_size = std::size_t{1} << 16;
  std::size_t at = (used_ + alignment - 1) / alignment * alignment;
  while (place_ == blocks_.size() || at + size > blocks_[place_].size) {
    at = 0;
    if (place_ < blocks_.size()) ++place_;
    if (place_ < blocks_.size()) continue;
    const std::size_t needed = std::max(size, block_size);
    blocks_.push_back({std::unique_ptr<std::byte[]>(new std::byte[needed]), needed});  // make_unique writes zeros
  }
  used_ = at + size;
  return blocks_[place_].bytes.get() + at;
}

const char* Blocks::keep(const char* text) {
  if (text == nullptr) return nullptr;
  const std::size_t size = std::strlen(text) + 1;
  return static_cast<const char*>(std::memcpy(take(size, 1), text, size));
}

void HeldTick::begin(const loupe_tick& tick) {
  told_.clear();
  others_.clear();
  blocks_->clear();
  tick_.emplace(tick);
}

void HeldTick::take_over(HeldTick&& other) {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < told_.size(); ++i) {
    if (std::string key = key_of(told_[i]); !key.empty()) places.emplace(std::move(key), i);
  }
  for (Told& told : other.told_) {
    const auto place = places.find(key_of(told));
    if (place != places.end()) {
      told_[place->second] = std::move(told);
    } else {
      told_.push_back(std::move(told));
    }
  }
  other.told_.clear();
  others_.push_back(std::exchange(other.blocks_, std::make_unique<Blocks>()));
  for (auto& each : other.others_) others_.push_back(std::move(each));
  other.others_.clear();
}

void HeldTick::each_value(const std::function<void(const loupe_value&)>& call) const {
  for (const Told& told : told_) {
    if (const auto* value = std::get_if<const loupe_value*>(&told)) call(**value);
  }
}

}  // namespace loupe
