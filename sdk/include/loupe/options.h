#ifndef LOUPE_OPTIONS_H
#define LOUPE_OPTIONS_H

#include <loupe/abi.h>
#include <loupe/error.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace loupe {

using Strings = std::vector<std::string>;

/// What a component declares of one option: its type follows from its default.
///
///     static std::vector<loupe::Option> options() {
///       return {{"aggregation", "mean", "how an epoch becomes one number", {"mean", "max"}},
///               {"epsilon", 1e-8, "what counts as zero", 0.0, 1.0}};
///     }
struct Option {
  Option(std::string name_, bool value, std::string help_) : Option(LOUPE_OPTION_BOOLEAN, name_, help_) {
    integer = value;
  }
  Option(std::string name_, int value, std::string help_, double low = -INFINITY, double high = INFINITY)
      : Option(std::move(name_), static_cast<int64_t>(value), std::move(help_), low, high) {}
  Option(std::string name_, int64_t value, std::string help_, double low = -INFINITY, double high = INFINITY)
      : Option(LOUPE_OPTION_INTEGER, name_, help_) {
    integer = value;
    number = static_cast<double>(value);
    minimum = low;
    maximum = high;
  }
  Option(std::string name_, double value, std::string help_, double low = -INFINITY, double high = INFINITY)
      : Option(LOUPE_OPTION_NUMBER, name_, help_) {
    number = value;
    minimum = low;
    maximum = high;
  }
  Option(std::string name_, const char* value, std::string help_, Strings choices_ = {})
      : Option(LOUPE_OPTION_STRING, name_, help_) {
    text = value;
    choices = std::move(choices_);
  }
  Option(std::string name_, const Strings& value, std::string help_, Strings choices_ = {})
      : Option(LOUPE_OPTION_STRINGS, name_, help_) {
    texts = value;
    choices = std::move(choices_);
  }
  /// Named values that the component reads by itself.
  static Option map(std::string name, std::string help) { return {LOUPE_OPTION_MAP, name, help}; }
  /// The name of another component, which the host checks: `interface_id` is LOUPE_GATHERER_ID or
  /// LOUPE_PREPROCESSOR_ID.
  static Option component(std::string name, const char* value, std::string help, const char* interface_id) {
    Option option(std::move(name), value, std::move(help));
    option.names = interface_id;
    return option;
  }
  /// The options of the component that the option `of` names, checked by what that component declares.
  static Option options_of(std::string of, std::string name, std::string help) {
    Option option = map(std::move(name), std::move(help));
    option.of = std::move(of);
    return option;
  }
  /// The same option without a default: a configuration that leaves it out is refused.
  Option required() const {
    Option option = *this;
    option.is_required = true;
    return option;
  }

  uint32_t type;
  std::string name, help, names, of;
  int64_t integer = 0;  // the default, as `type` says
  double number = 0;
  std::string text;
  Strings texts;
  double minimum = -INFINITY, maximum = INFINITY;
  Strings choices;
  bool is_required = false;

 private:
  Option(uint32_t type_, std::string& name_, std::string& help_)
      : type(type_), name(std::move(name_)), help(std::move(help_)) {}
};

/// The options of one component as the user set them, defaults filled in. Borrowed: read them in the constructor.
class Options {
 public:
  explicit Options(const loupe_options* options) : options_(options) {}

  bool has(const char* name) const { return find(name) != nullptr; }
  /// T is bool, int, int64_t, double, std::string or Strings. Throws Error when no such option was declared, when it is
  /// of another type (an integer may be read as double), or when its number is too large for T.
  template <class T>
  T get(const char* name) const {
    const loupe_option_value& value = at(name);
    if constexpr (std::is_same_v<T, bool>) {
      expect(value, LOUPE_OPTION_BOOLEAN, "bool");
      return value.integer != 0;
    } else if constexpr (std::is_integral_v<T>) {
      expect(value, LOUPE_OPTION_INTEGER, "an integer");
      const auto number = static_cast<T>(value.integer);
      if (static_cast<int64_t>(number) != value.integer || (number < T{}) != (value.integer < 0)) {
        throw Error(std::string("the option '") + name + "' cannot be as large as " + std::to_string(value.integer),
                    LOUPE_INVALID);
      }
      return number;
    } else if constexpr (std::is_floating_point_v<T>) {
      if (value.type != LOUPE_OPTION_INTEGER) expect(value, LOUPE_OPTION_NUMBER, "a floating-point number");
      return static_cast<T>(value.number);
    } else if constexpr (std::is_same_v<T, std::string>) {
      expect(value, LOUPE_OPTION_STRING, "std::string");
      return value.string != nullptr ? value.string : "";
    } else {
      static_assert(std::is_same_v<T, Strings>, "an option is bool, integer, double, std::string or loupe::Strings");
      expect(value, LOUPE_OPTION_STRINGS, "loupe::Strings");
      return Strings(value.strings, value.strings + value.string_count);
    }
  }
  Options map(const char* name) const {
    const loupe_option_value& value = at(name);
    expect(value, LOUPE_OPTION_MAP, "a map");
    return Options(value.map);
  }
  std::size_t size() const { return options_ == nullptr ? 0 : options_->value_count; }
  const loupe_option_value& operator[](std::size_t i) const { return *options_->values[i]; }
  const loupe_options* raw() const { return options_; }

 private:
  const loupe_option_value* find(const char* name) const {
    for (std::size_t i = 0; i < size(); ++i) {
      if (std::strcmp(options_->values[i]->name, name) == 0) return options_->values[i];
    }
    return nullptr;
  }
  const loupe_option_value& at(const char* name) const {
    const loupe_option_value* value = find(name);
    if (value == nullptr) throw Error(std::string("the option '") + name + "' is read but was not declared");
    return *value;
  }

  static void expect(const loupe_option_value& value, uint32_t type, const char* wanted) {
    if (value.type == type) return;
    static constexpr const char* types[] = {
        "nothing", "bool", "an integer", "a floating-point number", "a text", "a list of texts", "a map"};
    const char* is = value.type <= LOUPE_OPTION_MAP ? types[value.type] : "of a type that this SDK does not know";
    throw Error(std::string("the option '") + value.name + "' is " + is + " and is read as " + wanted +
                    "; declare and read it as the same type",
                LOUPE_INVALID);
  }

  const loupe_options* options_;
};

/// Options that a lens gives to a gatherer or preprocessor: {{"death", true}, {"epsilon", 1e-6}}.
class OptionValues {
 public:
  struct Item {
    Item(const char* name, bool value) : name(name), type(LOUPE_OPTION_BOOLEAN), integer(value) {}
    Item(const char* name, int value) : name(name), type(LOUPE_OPTION_INTEGER), integer(value), number(value) {}
    Item(const char* name, double value) : name(name), type(LOUPE_OPTION_NUMBER), number(value) {}
    Item(const char* name, const char* value) : name(name), type(LOUPE_OPTION_STRING), text(value) {}
    Item(const char* name, std::string value) : name(name), type(LOUPE_OPTION_STRING), text(std::move(value)) {}
    Item(const char* name, Strings value) : name(name), type(LOUPE_OPTION_STRINGS), texts(std::move(value)) {}
    /// A copy of what the user set. Throws Error for a map.
    explicit Item(const loupe_option_value& value)
        : name(value.name), type(value.type), integer(value.integer), number(value.number) {
      if (type == LOUPE_OPTION_MAP) throw Error("the option '" + name + "' cannot be a map here", LOUPE_INVALID);
      if (type == LOUPE_OPTION_STRING) text = value.string != nullptr ? value.string : "";
      if (type == LOUPE_OPTION_STRINGS) texts.assign(value.strings, value.strings + value.string_count);
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
  /// What the user put in a map, to be handed on. Throws Error for a map in the map.
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
      values.push_back({sizeof(loupe_option_value), item.type, item.name.c_str(), item.integer, item.number,
                        item.text.c_str(), list.data(), list.size(), nullptr});
    }
    std::vector<const loupe_option_value*> pointers;
    for (const auto& value : values) pointers.push_back(&value);
    const loupe_options options{sizeof(loupe_options), 0, pointers.data(), pointers.size()};
    return use(&options);
  }

 private:
  std::vector<Item> items_;
};

}  // namespace loupe

#endif
