#pragma once

#include <loupe/abi.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// The C form of a value of an option; borrows from both.
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

/// What a component declares of one option: its type follows from its default.
///
///     static std::vector<loupe::Option> options() {
///       return {{"aggregation", "mean", "how an epoch becomes one number", {"mean", "max"}},
///               {"epsilon", 1e-8, "what counts as zero", 0.0, 1.0}};
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
  /// Named values that the component reads by itself.
  static Option map(std::string name, std::string help) { return {LOUPE_TYPE_MAP, name, help}; }
  /// The same option without a default: a configuration that leaves it out is refused.
  Option required() const {
    Option option = *this;
    option.is_required = true;
    return option;
  }

  uint32_t type;
  std::string name, help;
  int64_t integer = 0;  // the default, as `type` says
  double number = 0;
  std::string text;
  Strings texts;
  std::optional<double> minimum, maximum;
  Strings choices;
  bool is_required = false;
  uint32_t drafts = 0;  // of LOUPE_OPTION_DRAFTS

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

}  // namespace v1_0
}  // namespace loupe
