#pragma once

#include <loupe/abi.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/shared.h"

namespace YAML {
class Node;
struct Mark;
}  // namespace YAML

namespace loupe {

class Diagnostics;

/// A component's declared options, as a range to loop over.
struct OptionTable {
  const loupe_option* const* options = nullptr;
  std::size_t count = 0;
  const loupe_option* const* begin() const { return options; }
  const loupe_option* const* end() const { return options + count; }
  /// Null if no option has that name.
  const loupe_option* find(std::string_view name) const;
};

inline bool has_minimum(const loupe_option& option) {
  return (option.flags & LOUPE_OPTION_HAS_MINIMUM) != 0;
}
inline bool has_maximum(const loupe_option& option) {
  return (option.flags & LOUPE_OPTION_HAS_MAXIMUM) != 0;
}

/// Appends bytes to `key` that are equal only for equal options, from any source. False for invalid ones.
/// @param follows_maps  false: options with a map count as invalid, as a plugin's map may point anywhere
bool append_key(std::string& key, const loupe_options* options, bool follows_maps);

/// A LOUPE_TYPE_ of this version.
constexpr bool is_known_type(uint32_t type) {
  return type >= LOUPE_TYPE_BOOLEAN && type <= LOUPE_TYPE_MAP;
}

/// Values for one component, checked against its declaration and completed by defaults, in the form for the ABI.
class OptionSet {
 public:
  OptionSet() = default;
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  /// Reads a YAML map (or nothing). Faults go to `diagnostics` and name the component `owner`. Missing options are
  /// reported at `place`, where the component is named; null: where the map is.
  LOUPE_SHARED static std::unique_ptr<OptionSet> from_yaml(const OptionTable& table, const YAML::Node& node,
                                                           const std::string& owner, Diagnostics& diagnostics,
                                                           const YAML::Mark* place = nullptr);
  /// Takes values that a lens gives. Throws Error for an unknown name, a wrong type or a value out of range.
  static std::unique_ptr<OptionSet> from_values(const OptionTable& table, const loupe_options* values,
                                                const std::string& owner);

  /// An option's default as YAML; null for one that is required.
  static YAML::Node default_of(const loupe_option& option);
  /// Checks that the declared defaults satisfy the declared rules. Faults go to `diagnostics`.
  static void check_defaults(const OptionTable& table, const std::string& owner, Diagnostics& diagnostics);

  const loupe_options* get() const { return &options_; }
  /// Removes an integer option, so that the component does not see it, and returns it; nullopt if absent.
  std::optional<int64_t> take_integer(const std::string& name);
  /// Changes the value of an existing option whose type is text.
  LOUPE_SHARED void set_text(const std::string& name, const std::string& text);
  /// A text that is equal for equal values; it identifies equal components.
  std::string key() const;

 private:
  struct Value {
    loupe_option_value value{};
    std::string name, text;
    std::vector<std::string> strings;
    std::vector<const char*> pointers;
    std::unique_ptr<OptionSet> map;
  };
  Value& add(const std::string& name, uint32_t type);
  void read(Value& value, const loupe_option& option, const YAML::Node& node, const std::string& where,
            Diagnostics& diagnostics);
  void read_default(Value& value, const loupe_option& option, const std::string& where, Diagnostics& diagnostics);
  static std::unique_ptr<OptionSet> untyped(const YAML::Node& node, const std::string& where, Diagnostics& diagnostics);
  void finish();

  std::deque<Value> values_;
  std::vector<const loupe_option_value*> pointers_;
  loupe_options options_{sizeof(loupe_options), 0, nullptr, 0};
};

}  // namespace loupe
