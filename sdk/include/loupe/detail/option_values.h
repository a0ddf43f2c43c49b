#pragma once

#include <loupe/options.h>

#include <deque>
#include <initializer_list>
#include <string_view>

namespace loupe {
inline namespace v1_0 {

/// Options that a lens gives to a gatherer or preprocessor: {{"death", true}, {"eps", 1e-6}}.
class OptionValues {
 public:
  struct Item {
    Item(const char* name, bool value) : name(name), type(LOUPE_TYPE_BOOLEAN), integer(value) {}
    Item(const char* name, int value) : name(name), type(LOUPE_TYPE_INTEGER), integer(value), number(value) {}
    Item(const char* name, double value) : name(name), type(LOUPE_TYPE_NUMBER), number(value) {}
    Item(const char* name, const char* value) : name(name), type(LOUPE_TYPE_STRING), text(value) {}
    Item(const char* name, std::string value) : name(name), type(LOUPE_TYPE_STRING), text(std::move(value)) {}
    Item(const char* name, Strings value) : name(name), type(LOUPE_TYPE_STRINGS), texts(std::move(value)) {}
    /// Copies what the user set. Throws Error for a map.
    explicit Item(const loupe_option_value& value)
        : name(value.name), type(value.type), integer(value.integer), number(value.number) {
      if (type == LOUPE_TYPE_MAP) throw Error("the option '" + name + "' cannot be a map here", LOUPE_INVALID);
      if (type == LOUPE_TYPE_STRING) text = value.string != nullptr ? value.string : "";
      if (type == LOUPE_TYPE_STRINGS) texts.assign(value.strings, value.strings + value.string_count);
    }
    std::string name;
    uint32_t type;
    int64_t integer = 0;
    double number = 0;
    std::string text;
    Strings texts;
  };

  OptionValues() = default;
  OptionValues(std::initializer_list<Item> items) : items_(items) {}
  /// The options that the user gave in a map, to pass on. Throws Error for a nested map.
  explicit OptionValues(const Options& options) {
    for (std::size_t i = 0; i < options.size(); ++i) items_.emplace_back(options[i]);
  }

  bool has(std::string_view name) const {
    for (const Item& item : items_) {
      if (item.name == name) return true;
    }
    return false;
  }
  void add(Item item) { items_.push_back(std::move(item)); }

  /// Calls `use` with the C form, valid for that call.
  template <class Use>
  auto lend(Use&& use) const {
    std::deque<std::vector<const char*>> lists;
    std::vector<loupe_option_value> values;
    for (const Item& item : items_) {
      auto& list = lists.emplace_back();
      for (const std::string& text : item.texts) list.push_back(text.c_str());
      values.push_back(detail::c_value(item, list));
    }
    std::vector<const loupe_option_value*> pointers;
    for (const auto& value : values) pointers.push_back(&value);
    loupe_options options{};
    options.struct_size = sizeof options;
    options.values = pointers.data();
    options.value_count = pointers.size();
    return use(&options);
  }

 private:
  std::vector<Item> items_;
};

}  // namespace v1_0
}  // namespace loupe
