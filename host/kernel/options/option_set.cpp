#include "options/option_set.h"

#include <loupe/detail/whole.h>
#include <loupe/error.h>
#include <loupe/text/number_text.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/text.h"
#include "options/diagnostics.h"

namespace loupe {
namespace {

std::string type_name(uint32_t type) {
  constexpr const char* names[] = {"true or false", "a whole number", "a number", "a text", "a list of texts", "a map"};
  return names[std::min(type - uint32_t{LOUPE_TYPE_BOOLEAN}, uint32_t{LOUPE_TYPE_MAP - LOUPE_TYPE_BOOLEAN})];
}

/// A number with all digits; non-finite ones in YAML's form.
std::string yaml_text(double number) {
  if (std::isnan(number)) return ".nan";
  return std::isfinite(number) ? number_text(number) : number < 0 ? "-.inf" : ".inf";
}

/// Reads a number in YAML's form, whatever the locale's decimal point is.
bool read_number(const YAML::Node& node, double& number) {
  if (!node.IsScalar()) return false;
  std::string text = node.Scalar();
  if (!text.empty() && text[0] == '+') text.erase(0, 1);
  const std::string unsigned_text = text.substr(!text.empty() && text[0] == '-' ? 1 : 0);
  for (const char* infinity : {".inf", ".Inf", ".INF"}) {
    if (unsigned_text == infinity) {
      number = text[0] == '-' ? -INFINITY : INFINITY;
      return true;
    }
  }
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end && std::isfinite(number);
}

bool is_within_bounds(const loupe_option& option, double number) {
  return (!has_minimum(option) || number >= option.minimum) && (!has_maximum(option) || number <= option.maximum);
}

std::string bounds(const loupe_option& option) {
  if (!has_maximum(option)) return "at least " + yaml_text(option.minimum);
  if (!has_minimum(option)) return "at most " + yaml_text(option.maximum);
  return "between " + yaml_text(option.minimum) + " and " + yaml_text(option.maximum);
}

std::vector<std::string> names(const OptionTable& table) {
  std::vector<std::string> known;
  for (const loupe_option* option : table) known.emplace_back(option->name);
  return known;
}

bool is_required(const loupe_option& option) {
  return (option.flags & LOUPE_OPTION_REQUIRED) != 0;
}

constexpr const char* of_newer_type = " is of a type that this Loupe does not know; update Loupe, or leave it out";

/// Converts a value from the boundary and checks its pointers. Throws Error with text that follows a name.
YAML::Node yaml_of(const loupe_option_value& value) {
  constexpr std::size_t most_strings = 1 << 20;
  switch (value.type) {
    case LOUPE_TYPE_BOOLEAN:
      return YAML::Node(value.integer != 0);
    case LOUPE_TYPE_INTEGER:
      return YAML::Node(value.integer);
    case LOUPE_TYPE_NUMBER:
      return YAML::Node(yaml_text(value.number));
    case LOUPE_TYPE_STRING:
      return YAML::Node(std::string(value.string != nullptr ? value.string : ""));
    case LOUPE_TYPE_STRINGS: {
      YAML::Node list(YAML::NodeType::Sequence);
      if (value.string_count > most_strings) throw Error("is a list of impossible length");
      for (std::size_t i = 0; i < value.string_count; ++i) {
        if (value.strings == nullptr || value.strings[i] == nullptr) throw Error("is a list with a null in it");
        list.push_back(std::string(value.strings[i]));
      }
      return list;
    }
    default:
      throw Error("is in a form that only YAML can give");
  }
}

bool is_none(const YAML::Node& node) {
  return node.IsNull() || (node.IsScalar() && node.Scalar() == "none");
}

}  // namespace

const loupe_option* OptionTable::find(std::string_view name) const {
  const auto found = std::find_if(begin(), end(), [&](const loupe_option* each) { return each->name == name; });
  return found == end() ? nullptr : *found;
}

OptionSet::Value& OptionSet::add(const std::string& name, uint32_t type) {
  Value& value = values_.emplace_back();
  value.name = name;
  value.value.struct_size = sizeof(loupe_option_value);
  value.value.type = type;
  return value;
}

void OptionSet::read(Value& value, const loupe_option& option, const YAML::Node& node, const std::string& where,
                     Diagnostics& diagnostics) {
  const auto wrong = [&] {
    diagnostics.error(node, where + " must be " + type_name(option.type) + ", not " + describe_node(node));
  };
  const auto check_choice = [&](const YAML::Node& at, const std::string& text) {
    if (option.choice_count == 0) return;
    const std::vector<std::string> choices(option.choices, option.choices + option.choice_count);
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      diagnostics.error(at, where + " cannot be '" + text + "'" + suggestion(text, choices));
    }
  };
  switch (option.type) {
    case LOUPE_TYPE_BOOLEAN:
      if (bool flag = false; node.IsScalar() && YAML::convert<bool>::decode(node, flag)) {
        value.value.integer = flag;
      } else {
        wrong();
      }
      return;
    case LOUPE_TYPE_INTEGER:
    case LOUPE_TYPE_NUMBER: {
      const bool whole = option.type == LOUPE_TYPE_INTEGER;
      const bool read =
          whole ? YAML::convert<int64_t>::decode(node, value.value.integer) : read_number(node, value.value.number);
      if (!node.IsScalar() || !read) return wrong();
      if (whole) value.value.number = static_cast<double>(value.value.integer);
      if (!is_within_bounds(option, value.value.number)) {
        diagnostics.error(node, where + " must be " + bounds(option) + ", not " + node.Scalar());
      }
      return;
    }
    case LOUPE_TYPE_STRING:
      if (!node.IsScalar()) return wrong();
      value.text = node.Scalar();
      check_choice(node, value.text);
      return;
    case LOUPE_TYPE_STRINGS:
      if (is_none(node)) return;
      if (node.IsScalar()) {
        value.strings.push_back(node.Scalar());
        check_choice(node, node.Scalar());
        return;
      }
      if (!node.IsSequence()) return wrong();
      for (const YAML::Node& item : node) {
        if (!item.IsScalar()) return wrong();
        value.strings.push_back(item.Scalar());
        check_choice(item, item.Scalar());
      }
      return;
    default:
      if (!node.IsMap() && !node.IsNull()) return wrong();
      value.map = untyped(node, where, diagnostics);
  }
}

YAML::Node OptionSet::default_of(const loupe_option& option) {
  if (is_required(option)) return YAML::Node(YAML::NodeType::Null);
  if (option.type == LOUPE_TYPE_MAP) return YAML::Node(YAML::NodeType::Map);
  loupe_option_value value{};  // an option without a default gets false, 0, "" or an empty list
  if (option.default_value != nullptr) value = detail::known_part(*option.default_value);
  if (option.default_value != nullptr && value.type != option.type) throw Error("is not " + type_name(option.type));
  value.type = option.type;
  return yaml_of(value);
}

/// Checks a declared default by the same rules as a value of the user.
void OptionSet::read_default(Value& value, const loupe_option& option, const std::string& where,
                             Diagnostics& diagnostics) {
  try {
    read(value, option, default_of(option), where, diagnostics);
  } catch (const Error& e) {
    diagnostics.error(YAML::Mark::null_mark(), where + " has a default that " + e.what());
  }
}

/// A map that only its component understands: scalars typed by their text, lists of scalars, and such maps.
std::unique_ptr<OptionSet> OptionSet::untyped(const YAML::Node& node, const std::string& where,
                                              Diagnostics& diagnostics) {
  auto set = std::make_unique<OptionSet>();
  for (const auto& entry : node) {
    const YAML::Node& item = entry.second;
    const std::string name = entry.first.Scalar();
    loupe_option option{.struct_size = sizeof option, .type = LOUPE_TYPE_STRING, .name = name.c_str(), .help = ""};
    bool flag = false;
    int64_t whole = 0;
    double number = 0;
    if (item.IsMap()) {
      option.type = LOUPE_TYPE_MAP;
    } else if (item.IsSequence()) {
      option.type = LOUPE_TYPE_STRINGS;
    } else if (item.Tag() != "!" && YAML::convert<int64_t>::decode(item, whole)) {
      option.type = LOUPE_TYPE_INTEGER;
    } else if (item.Tag() != "!" && read_number(item, number)) {
      option.type = LOUPE_TYPE_NUMBER;
    } else if (item.Tag() != "!" && YAML::convert<bool>::decode(item, flag)) {
      option.type = LOUPE_TYPE_BOOLEAN;
    }
    set->read(set->add(name, option.type), option, item, where + "." + name, diagnostics);
  }
  set->finish();
  return set;
}

std::unique_ptr<OptionSet> OptionSet::from_yaml(const OptionTable& table, const YAML::Node& node,
                                                const std::string& owner, Diagnostics& diagnostics,
                                                const YAML::Mark* place) {
  auto set = std::make_unique<OptionSet>();
  if (!node.IsNull() && !node.IsMap()) {
    diagnostics.error(node,
                      "the options of " + owner + " must be a map of names and values, not " + describe_node(node));
    return set;
  }
  std::vector<std::string> seen;
  for (const auto& entry : node) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (table.find(name) == nullptr) {
      diagnostics.error(entry.first, owner + " has no option '" + name + "'" + suggestion(name, names(table)));
    } else if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      diagnostics.error(entry.first, owner + " is given the option '" + name + "' twice; keep one");
    }
    seen.push_back(name);
  }
  for (const loupe_option* option : table) {
    const std::string where = owner + "." + option->name;
    if (!is_known_type(option->type)) {
      const bool is_given = node.IsMap() && node[option->name].IsDefined();
      if (is_given || is_required(*option)) diagnostics.error(node, where + of_newer_type);
      continue;
    }
    Value& value = set->add(option->name, option->type);
    if (node.IsMap() && node[option->name].IsDefined()) {
      set->read(value, *option, node[option->name], where, diagnostics);
    } else if (is_required(*option)) {
      diagnostics.error(place == nullptr ? node.Mark() : *place,
                        owner + " needs the option '" + option->name + "' (" + option->help + ")");
    } else {
      set->read_default(value, *option, where, diagnostics);
    }
  }
  set->finish();
  return set;
}

void OptionSet::check_defaults(const OptionTable& table, const std::string& owner, Diagnostics& diagnostics) {
  OptionSet set;
  for (const loupe_option* option : table) {
    if (is_required(*option) || !is_known_type(option->type)) continue;
    set.read_default(set.add(option->name, option->type), *option, owner + "." + option->name, diagnostics);
  }
}

std::unique_ptr<OptionSet> OptionSet::from_values(const OptionTable& table, const loupe_options* values,
                                                  const std::string& owner) {
  YAML::Node node(YAML::NodeType::Map);
  const std::size_t count = values != nullptr ? values->value_count : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const loupe_option_value* value = values->values != nullptr ? values->values[i] : nullptr;
    if (value == nullptr || value->name == nullptr)
      throw Error(owner + " is given an option without a name", LOUPE_INVALID);
    try {
      node[value->name] = yaml_of(detail::known_part(*value));
    } catch (const Error& e) {
      throw Error(owner + " is given '" + value->name + "', which " + e.what(), LOUPE_INVALID);
    }
  }
  Diagnostics diagnostics(owner);
  auto set = from_yaml(table, node, owner, diagnostics);
  if (!diagnostics.empty()) throw Error(diagnostics.messages(), LOUPE_INVALID);
  return set;
}

std::optional<int64_t> OptionSet::take_integer(const std::string& name) {
  const auto found = std::find_if(pointers_.begin(), pointers_.end(),
                                  [&](const loupe_option_value* value) { return value->name == name; });
  if (found == pointers_.end()) return std::nullopt;
  const int64_t taken = (*found)->integer;
  values_.erase(values_.begin() + (found - pointers_.begin()));
  pointers_.clear();
  finish();
  return taken;
}

void OptionSet::set_text(const std::string& name, const std::string& text) {
  const auto found =
      std::find_if(values_.begin(), values_.end(), [&](const Value& value) { return value.name == name; });
  if (found == values_.end()) return;
  found->text = text;
  found->value.string = found->text.c_str();
}

void OptionSet::finish() {
  for (Value& value : values_) {
    value.pointers.clear();
    for (const std::string& text : value.strings) value.pointers.push_back(text.c_str());
    value.value.name = value.name.c_str();
    value.value.string = value.value.type == LOUPE_TYPE_STRING ? value.text.c_str() : nullptr;
    value.value.strings = value.pointers.data();
    value.value.string_count = value.pointers.size();
    value.value.map = value.map ? value.map->get() : nullptr;
    pointers_.push_back(&value.value);
  }
  options_.values = pointers_.data();
  options_.value_count = pointers_.size();
}

bool append_key(std::string& key, const loupe_options* options, bool follows_maps) {
  const auto add = [&](const auto& number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    key.append(bytes, sizeof number);
  };
  const auto add_text = [&](const char* text) {
    const std::size_t size = std::strlen(text);
    add(size);
    key.append(text, size);
  };
  const std::size_t count = options != nullptr ? options->value_count : 0;
  add(count);
  for (std::size_t i = 0; i < count; ++i) {
    const loupe_option_value* value = options->values != nullptr ? options->values[i] : nullptr;
    if (value == nullptr || value->struct_size < sizeof *value || value->name == nullptr) return false;
    add_text(value->name);
    add(value->type);
    switch (value->type) {
      case LOUPE_TYPE_BOOLEAN:
      case LOUPE_TYPE_INTEGER:
        add(value->integer);
        break;
      case LOUPE_TYPE_NUMBER:
        add(value->number);
        break;
      case LOUPE_TYPE_STRING:
        add_text(value->string != nullptr ? value->string : "");
        break;
      case LOUPE_TYPE_STRINGS:
        add(value->string_count);
        for (std::size_t s = 0; s < value->string_count; ++s) {
          if (value->strings == nullptr || value->strings[s] == nullptr) return false;
          add_text(value->strings[s]);
        }
        break;
      case LOUPE_TYPE_MAP:
        if (!follows_maps || !append_key(key, value->map, true)) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

std::string OptionSet::key() const {
  std::string key;
  append_key(key, &options_, /*follows_maps=*/true);
  return key;
}

}  // namespace loupe
