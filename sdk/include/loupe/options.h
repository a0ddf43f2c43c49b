#pragma once

#include <loupe/abi.h>
#include <loupe/error.h>

#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {

namespace detail {

/// The C form of an option's value; borrows from both arguments.
template <class Item>
loupe_option_value c_value(const Item& item, const std::vector<const char*>& texts) {
  loupe_option_value value{};
  value.struct_size = sizeof value;
  value.type = item.type;
  value.name = item.name.c_str();
  value.integer = item.integer;
  value.number = item.number;
  value.string = item.text.c_str();
  value.strings = texts.data();
  value.string_count = texts.size();
  return value;
}

}  // namespace detail

using Strings = std::vector<std::string>;

/// The declaration of one option; its type follows from its default.
///
///     static std::vector<loupe::Option> options() {
///       return {{"aggregation", "mean", "how an epoch becomes one number", {"mean", "max"}},
///               {"eps", 1e-8, "what counts as zero", 0.0, 1.0}};
///     }
struct Option {
  Option(std::string name_, bool value, std::string help_) : Option(LOUPE_TYPE_BOOLEAN, name_, help_) {
    integer = value;
  }
  Option(std::string name_, int value, std::string help_, std::optional<double> low = {},
         std::optional<double> high = {})
      : Option(std::move(name_), static_cast<int64_t>(value), std::move(help_), low, high) {}
  Option(std::string name_, int64_t value, std::string help_, std::optional<double> low = {},
         std::optional<double> high = {})
      : Option(LOUPE_TYPE_INTEGER, name_, help_) {
    integer = value;
    number = static_cast<double>(value);
    minimum = low;
    maximum = high;
  }
  Option(std::string name_, double value, std::string help_, std::optional<double> low = {},
         std::optional<double> high = {})
      : Option(LOUPE_TYPE_NUMBER, name_, help_) {
    number = value;
    minimum = low;
    maximum = high;
  }
  Option(std::string name_, const char* value, std::string help_, Strings choices_ = {})
      : Option(LOUPE_TYPE_STRING, name_, help_) {
    text = value;
    choices = std::move(choices_);
  }
  Option(std::string name_, const Strings& value, std::string help_, Strings choices_ = {})
      : Option(LOUPE_TYPE_STRINGS, name_, help_) {
    texts = value;
    choices = std::move(choices_);
  }
  /// Named values that the component reads itself.
  static Option map(std::string name, std::string help) { return {LOUPE_TYPE_MAP, name, help}; }
  /// The same option without a default: a configuration that leaves it out is refused.
  Option required() const {
    Option option = *this;
    option.is_required = true;
    return option;
  }

  uint32_t type;
  std::string name, help;
  int64_t integer = 0;  // the default; `type` selects the member
  double number = 0;
  std::string text;
  Strings texts;
  std::optional<double> minimum, maximum;
  Strings choices;
  bool is_required = false;
  uint32_t drafts = 0;  // bits of LOUPE_OPTION_DRAFTS

 private:
  Option(uint32_t type_, std::string& name_, std::string& help_)
      : type(type_), name(std::move(name_)), help(std::move(help_)) {}
};

/// Several lists of options as one.
inline std::vector<Option> joined_options(std::initializer_list<std::vector<Option>> lists) {
  std::vector<Option> all;
  for (const std::vector<Option>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// The options of one component as set by the user, with defaults filled in. Borrowed: read them in the constructor.
class Options {
 public:
  explicit Options(const loupe_options* options) : options_(options) {}

  bool has(const char* name) const { return find(name) != nullptr; }
  /// T is bool, int, int64_t, double, std::string or Strings. Throws Error if no such option was declared, if it has
  /// another type (an integer may be read as double), or if its number is too large for T.
  template <class T>
  T get(const char* name) const {
    const loupe_option_value& value = at(name);
    if constexpr (std::is_same_v<T, bool>) {
      expect(value, LOUPE_TYPE_BOOLEAN, "bool");
      return value.integer != 0;
    } else if constexpr (std::is_integral_v<T>) {
      expect(value, LOUPE_TYPE_INTEGER, "an integer");
      const auto number = static_cast<T>(value.integer);
      if (static_cast<int64_t>(number) != value.integer || (number < T{}) != (value.integer < 0)) {
        throw Error(std::string("the option '") + name + "' cannot be as large as " + std::to_string(value.integer),
                    LOUPE_INVALID);
      }
      return number;
    } else if constexpr (std::is_floating_point_v<T>) {
      if (value.type != LOUPE_TYPE_INTEGER) expect(value, LOUPE_TYPE_NUMBER, "a floating-point number");
      return static_cast<T>(value.number);
    } else if constexpr (std::is_same_v<T, std::string>) {
      expect(value, LOUPE_TYPE_STRING, "std::string");
      return value.string != nullptr ? value.string : "";
    } else {
      static_assert(std::is_same_v<T, Strings>, "an option is bool, integer, double, std::string or loupe::Strings");
      expect(value, LOUPE_TYPE_STRINGS, "loupe::Strings");
      return Strings(value.strings, value.strings + value.string_count);
    }
  }
  Options map(const char* name) const {
    const loupe_option_value& value = at(name);
    expect(value, LOUPE_TYPE_MAP, "a map");
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
    if (value == nullptr)
      throw Error(std::string("the option '") + name + "' is read but was not declared; add it to options()");
    return *value;
  }

  static void expect(const loupe_option_value& value, uint32_t type, const char* wanted) {
    if (value.type == type) return;
    static constexpr const char* types[] = {
        "nothing", "bool", "an integer", "a floating-point number", "a text", "a list of texts", "a map"};
    const char* is = value.type <= LOUPE_TYPE_MAP ? types[value.type] : "of a type that this SDK does not know";
    throw Error(std::string("the option '") + value.name + "' is " + is + " and is read as " + wanted +
                    "; declare and read it as the same type",
                LOUPE_INVALID);
  }

  const loupe_options* options_;
};

}  // namespace v1_0
}  // namespace loupe
