#pragma once

// Copies of what is borrowed for a call, with what it points at, for those that need it longer. The module that a
// finding is about is left out: modules live as long as they are attached, which the copy does not know. Those of a
// model are copied with it, and point at each other.

#include <loupe/abi.h>
#include <loupe/detail/whole.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <forward_list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// A struct of the ABI with the strings and arrays behind it. Moving it would move neither; it is not copied.
template <class T>
class Owned {
 public:
  explicit Owned(const T& other);
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  const T& get() const { return value_; }

 private:
  template <class Other>
  friend class Owned;
  void keep(const char*& text) {
    if (text != nullptr) text = texts_.emplace_front(text).c_str();
  }
  template <class... Texts>
  void keep_all(Texts&... texts) {
    (keep(texts), ...);
  }
  void keep(const double*& numbers, std::size_t count) {
    if (numbers == nullptr || count == 0) return;
    numbers = numbers_.emplace_front(numbers, numbers + count).data();
  }
  template <class Item>
  std::vector<std::unique_ptr<Owned<Item>>>& keep(const Item* const*& items, std::size_t count) {
    auto list = std::make_shared<std::vector<std::unique_ptr<Owned<Item>>>>();
    auto pointers = std::make_shared<std::vector<const Item*>>();
    for (std::size_t i = 0; i < count && items != nullptr; ++i) {
      list->push_back(std::make_unique<Owned<Item>>(*items[i]));
      pointers->push_back(&list->back()->get());
    }
    items = pointers->data();
    others_.push_back(list);
    others_.push_back(pointers);
    return *list;
  }
  void keep(const char* const*& texts, std::size_t count) {
    auto pointers = std::make_shared<std::vector<const char*>>();
    for (std::size_t i = 0; i < count && texts != nullptr; ++i)
      pointers->push_back(texts[i] != nullptr ? texts_.emplace_front(texts[i]).c_str() : nullptr);
    texts = pointers->data();
    others_.push_back(pointers);
  }

  void keep(const loupe_options*& options) {
    if (options == nullptr) return;
    auto copy = std::make_shared<Owned<loupe_options>>(*options);
    options = &copy->get();
    others_.push_back(std::move(copy));
  }

  // Lists that take nothing while they are empty: there is one of these for every histogram that waits.
  std::forward_list<std::string> texts_;
  std::forward_list<std::vector<double>> numbers_;
  std::vector<std::shared_ptr<void>> others_;
  T value_;
};

template <>
inline Owned<loupe_tag>::Owned(const loupe_tag& other) : value_(known_part(other)) {
  keep_all(value_.id, value_.title, value_.unit, value_.description, value_.healthy, value_.advice);
}
template <>
inline Owned<loupe_histogram>::Owned(const loupe_histogram& other) : value_(known_part(other)) {
  keep_all(value_.tag, value_.layer, value_.line);
  keep(value_.edges, value_.bin_count + 1);
  keep(value_.counts, value_.bin_count);
}
template <>
inline Owned<loupe_finding>::Owned(const loupe_finding& other) : value_(known_part(other)) {
  if (value_.layer == nullptr && value_.module != nullptr) value_.layer = value_.module->name;
  keep_all(value_.rule, value_.layer, value_.parameter, value_.message, value_.advice, value_.tag, value_.source,
           value_.caused_by, value_.file);
  value_.module = nullptr;
}
template <>
inline Owned<loupe_note>::Owned(const loupe_note& other) : value_(known_part(other)) {
  keep(value_.text);
}
template <>
inline Owned<loupe_options>::Owned(const loupe_options& other);
template <>
inline Owned<loupe_run>::Owned(const loupe_run& other) : value_(known_part(other)) {
  keep(value_.settings);
  keep(value_.lenses, value_.lens_count);
  keep_all(value_.name, value_.directory, value_.config, value_.loupe_version, value_.libtorch_version, value_.started,
           value_.train_loss, value_.validation_loss);
}
template <>
inline Owned<loupe_ending>::Owned(const loupe_ending& other) : value_(known_part(other)) {
  keep(value_.message);
}
template <>
inline Owned<loupe_option_value>::Owned(const loupe_option_value& other) : value_(known_part(other)) {
  keep_all(value_.name, value_.string);
  keep(value_.strings, value_.string_count);
  if (value_.type != LOUPE_TYPE_MAP) value_.map = nullptr;
  keep(value_.map);
}
template <>
inline Owned<loupe_options>::Owned(const loupe_options& other) : value_(known_part(other)) {
  keep(value_.values, value_.value_count);
}
template <>
inline Owned<loupe_parameter>::Owned(const loupe_parameter& other) : value_(known_part(other)) {
  keep(value_.name);
  if (value_.sizes == nullptr) return;
  auto sizes = std::make_shared<std::vector<int64_t>>(value_.sizes, value_.sizes + value_.dim);
  value_.sizes = sizes->data();
  others_.push_back(sizes);
}
template <>
inline Owned<loupe_module>::Owned(const loupe_module& other) : value_(known_part(other)) {
  keep_all(value_.name, value_.path, value_.type, value_.full_type, value_.settings);
  value_.parent = nullptr;
  value_.model = nullptr;
  keep(value_.parameters, value_.parameter_count);
}
template <>
inline Owned<loupe_model>::Owned(const loupe_model& other) : value_(known_part(other)) {
  keep_all(value_.name, value_.type, value_.own_name);
  const auto& copies = keep(value_.modules, value_.module_count);
  std::unordered_map<const loupe_module*, const loupe_module*> copy_of;
  for (std::size_t i = 0; i < copies.size(); ++i) copy_of[other.modules[i]] = value_.modules[i];
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const loupe_module original = known_part(*other.modules[i]);
    const auto parent = copy_of.find(original.parent);
    if (parent != copy_of.end()) copies[i]->value_.parent = parent->second;
    if (original.model != nullptr) copies[i]->value_.model = &value_;
  }
}
template <>
inline Owned<loupe_parameter_group>::Owned(const loupe_parameter_group& other) : value_(known_part(other)) {
  keep(value_.settings);
}
template <>
inline Owned<loupe_progress>::Owned(const loupe_progress& other) : value_(known_part(other)) {}
template <>
inline Owned<loupe_optimizer>::Owned(const loupe_optimizer& other) : value_(known_part(other)) {
  keep_all(value_.model, value_.type);
  keep(value_.groups, value_.group_count);
}
template <>
inline Owned<loupe_tick>::Owned(const loupe_tick& other) : value_(known_part(other)) {
  keep(value_.optimizers, value_.optimizer_count);
}

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
