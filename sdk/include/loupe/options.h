#pragma once

#include <loupe/detail/option.h>
#include <loupe/error.h>

#include <cstring>
#include <string>
#include <type_traits>

namespace loupe {
inline namespace v1_0 {

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
