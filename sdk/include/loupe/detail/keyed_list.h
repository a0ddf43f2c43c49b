#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// Items in the order in which their keys came first, each found by its key without a search through the others.
template <class Item, class Key = std::string>
class KeyedList {
 public:
  /// The item of this key, made where there is none yet. Valid until the next call.
  Item& operator[](const Key& key) {
    const auto place = places_.try_emplace(key, items_.size());
    if (place.second) items_.emplace_back();
    return items_[place.first->second];
  }
  /// The item of this key; null where there is none.
  Item* find(const Key& key) {
    const auto place = places_.find(key);
    return place == places_.end() ? nullptr : &items_[place->second];
  }

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void clear() {
    items_.clear();
    places_.clear();
  }
  /// By its place in the order.
  Item& at(std::size_t place) { return items_[place]; }
  const Item& at(std::size_t place) const { return items_[place]; }
  const std::vector<Item>& items() const { return items_; }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<Item> items_;
  std::unordered_map<Key, std::size_t> places_;
};

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
