#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// Items in the order of their keys' arrival, with quick lookup by key. There may be very many short lists, so an empty
/// one allocates nothing, and a short one has no index.
template <class Item, class Key = std::string>
class KeyedList {
 public:
  /// The item of this key, created if it is new. Valid until the next call.
  Item& operator[](const Key& key) {
    const std::size_t place = place_of(key);
    if (place < items_.size()) return items_[place];
    keys_.push_back(key);
    items_.emplace_back();
    if (keys_.size() * 2 > index_.size()) {
      build_index();
    } else {
      put_into_index(keys_.size() - 1);
    }
    return items_.back();
  }
  /// The item of this key, or null.
  Item* find(const Key& key) {
    const std::size_t place = place_of(key);
    return place < items_.size() ? &items_[place] : nullptr;
  }

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void clear() {
    items_.clear();
    keys_.clear();
    index_.clear();
  }
  /// The item at this position.
  Item& at(std::size_t place) { return items_[place]; }
  const Item& at(std::size_t place) const { return items_[place]; }
  const std::vector<Item>& items() const { return items_; }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  static constexpr std::size_t few = 8;

  /// The position of this key; the number of items if it is unknown.
  std::size_t place_of(const Key& key) const {
    std::size_t place = 0;
    if (index_.empty()) {
      while (place < items_.size() && !(keys_[place] == key)) ++place;
      return place;
    }
    for (std::size_t slot = first_slot(key); index_[slot] != 0; slot = next_slot(slot)) {
      place = index_[slot] - 1;
      if (keys_[place] == key) return place;
    }
    return items_.size();
  }
  std::size_t first_slot(const Key& key) const { return std::hash<Key>()(key) & (index_.size() - 1); }
  std::size_t next_slot(std::size_t slot) const { return (slot + 1) & (index_.size() - 1); }
  void put_into_index(std::size_t place) {
    std::size_t slot = first_slot(keys_[place]);
    while (index_[slot] != 0) slot = next_slot(slot);
    index_[slot] = static_cast<std::uint32_t>(place + 1);
  }
  void build_index() {
    if (keys_.size() <= few) return;
    std::size_t slots = 4 * few;
    while (slots < 4 * keys_.size()) slots *= 2;
    index_.assign(slots, 0);
    for (std::size_t place = 0; place < keys_.size(); ++place) put_into_index(place);
  }

  std::vector<Item> items_;
  std::vector<Key> keys_;             // of the items
  std::vector<std::uint32_t> index_;  // positions from 1, by the keys' hashes; empty for a short list
};

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
