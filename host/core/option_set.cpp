#include "core/option_set.h"

#include <loupe/error.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/suggestion.h"

namespace loupe {
namespace {

std::string type_name(uint32_t type) {
  switch (type) {
    case LOUPE_OPTION_BOOLEAN:
      return "true or false";
    case LOUPE_OPTION_INTEGER:
      return "a whole number";
    case LOUPE_OPTION_NUMBER:
      return "a number";
    case LOUPE_OPTION_STRING:
      return "a text";
    case LOUPE_OPTION_STRINGS:
      return "a list of texts";
    default:
      return "a map";
  }
}

std::string shown(const YAML::Node& node) {
  if (node.IsScalar()) return "'" + node.Scalar() + "'";
  return node.IsSequence() ? "a list" : node.IsMap() ? "a map" : "nothing";
}

std::string bounds(const loupe_option& option) {
  std::ostringstream text;
  if (std::isinf(option.maximum)) {
    text << "at least " << option.minimum;
  } else if (std::isinf(option.minimum)) {
    text << "at most " << option.maximum;
  } else {
    text << "between " << option.minimum << " and " << option.maximum;
  }
  return text.str();
}

const loupe_option* find(const OptionTable& table, const std::string& name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const auto* option) { return option->name == name; });
  return found == table.end() ? nullptr : *found;
}

std::vector<std::string> names(const OptionTable& table) {
  std::vector<std::string> known;
  for (const loupe_option* option : table) known.emplace_back(option->name);
  return known;
}

bool is_none(const YAML::Node& node) {
  return node.IsNull() || (node.IsScalar() && node.Scalar() == "none");
}

}  // namespace

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
    diagnostics.error(node, where + " must be " + type_name(option.type) + ", not " + shown(node));
  };
  const auto check_choice = [&](const YAML::Node& at, const std::string& text) {
    if (option.choice_count == 0) return;
    const std::vector<std::string> choices(option.choices, option.choices + option.choice_count);
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      diagnostics.error(at, where + " cannot be '" + text + "'" + suggestion(text, choices));
    }
  };
  switch (option.type) {
    case LOUPE_OPTION_BOOLEAN:
      if (bool flag = false; node.IsScalar() && YAML::convert<bool>::decode(node, flag)) {
        value.value.integer = flag;
      } else {
        wrong();
      }
      return;
    case LOUPE_OPTION_INTEGER:
    case LOUPE_OPTION_NUMBER: {
      const bool whole = option.type == LOUPE_OPTION_INTEGER;
      const bool read = whole ? YAML::convert<int64_t>::decode(node, value.value.integer)
                              : YAML::convert<double>::decode(node, value.value.number);
      if (!node.IsScalar() || !read || std::isnan(value.value.number)) return wrong();
      if (whole) value.value.number = static_cast<double>(value.value.integer);
      if (!(value.value.number >= option.minimum && value.value.number <= option.maximum)) {
        diagnostics.error(node, where + " must be " + bounds(option) + ", not " + node.Scalar());
      }
      return;
    }
    case LOUPE_OPTION_STRING:
      if (!node.IsScalar()) return wrong();
      value.text = node.Scalar();
      check_choice(node, value.text);
      return;
    case LOUPE_OPTION_STRINGS:
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

/// A map that only its component understands: scalars by their look, lists of scalars, maps of the same.
std::unique_ptr<OptionSet> OptionSet::untyped(const YAML::Node& node, const std::string& where,
                                              Diagnostics& diagnostics) {
  auto set = std::make_unique<OptionSet>();
  for (const auto& entry : node) {
    const YAML::Node& item = entry.second;
    const std::string name = entry.first.Scalar();
    loupe_option option{sizeof(loupe_option),
                        LOUPE_OPTION_STRING,
                        name.c_str(),
                        "",
                        "",
                        -INFINITY,
                        INFINITY,
                        nullptr,
                        0,
                        nullptr,
                        nullptr};
    bool flag = false;
    int64_t whole = 0;
    double number = 0;
    if (item.IsMap()) {
      option.type = LOUPE_OPTION_MAP;
    } else if (item.IsSequence()) {
      option.type = LOUPE_OPTION_STRINGS;
    } else if (item.Tag() != "!" && YAML::convert<int64_t>::decode(item, whole)) {
      option.type = LOUPE_OPTION_INTEGER;
    } else if (item.Tag() != "!" && YAML::convert<double>::decode(item, number)) {
      option.type = LOUPE_OPTION_NUMBER;
    } else if (item.Tag() != "!" && YAML::convert<bool>::decode(item, flag)) {
      option.type = LOUPE_OPTION_BOOLEAN;
    }
    set->read(set->add(name, option.type), option, item, where + "." + name, diagnostics);
  }
  set->finish();
  return set;
}

std::unique_ptr<OptionSet> OptionSet::from_yaml(const OptionTable& table, const YAML::Node& node,
                                                const std::string& owner, Diagnostics& diagnostics) {
  auto set = std::make_unique<OptionSet>();
  if (!node.IsNull() && !node.IsMap()) {
    diagnostics.error(node, "the options of " + owner + " must be a map of names and values, not " + shown(node));
    return set;
  }
  std::vector<std::string> seen;
  for (const auto& entry : node) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (find(table, name) == nullptr) {
      diagnostics.error(entry.first, owner + " has no option '" + name + "'" + suggestion(name, names(table)));
    } else if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      diagnostics.error(entry.first, owner + " is given the option '" + name + "' twice; keep one");
    }
    seen.push_back(name);
  }
  for (const loupe_option* option : table) {
    const bool given = node.IsMap() && node[option->name].IsDefined();
    const YAML::Node source = given ? node[option->name] : YAML::Load(option->default_value);
    set->read(set->add(option->name, option->type), *option, source, owner + "." + option->name, diagnostics);
  }
  set->finish();
  return set;
}

std::unique_ptr<OptionSet> OptionSet::from_values(const OptionTable& table, const loupe_options* values,
                                                  const std::string& owner) {
  YAML::Node node(YAML::NodeType::Map);
  const std::size_t count = values != nullptr ? values->value_count : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const loupe_option_value& value = *values->values[i];
    switch (value.type) {
      case LOUPE_OPTION_BOOLEAN:
        node[value.name] = value.integer != 0;
        break;
      case LOUPE_OPTION_INTEGER:
        node[value.name] = value.integer;
        break;
      case LOUPE_OPTION_NUMBER:
        node[value.name] = value.number;
        break;
      case LOUPE_OPTION_STRING:
        node[value.name] = std::string(value.string);
        break;
      case LOUPE_OPTION_STRINGS:
        node[value.name] = std::vector<std::string>(value.strings, value.strings + value.string_count);
        break;
      default:
        throw Error(owner + " is given '" + value.name + "' in a form that only YAML can give", LOUPE_INVALID);
    }
  }
  Diagnostics diagnostics(owner);
  auto set = from_yaml(table, node, owner, diagnostics);
  if (!diagnostics.empty()) throw Error(diagnostics.messages(), LOUPE_INVALID);
  return set;
}

void OptionSet::finish() {
  for (Value& value : values_) {
    for (const std::string& text : value.strings) value.pointers.push_back(text.c_str());
    value.value.name = value.name.c_str();
    value.value.string = value.text.c_str();
    value.value.strings = value.pointers.data();
    value.value.string_count = value.pointers.size();
    value.value.map = value.map ? value.map->get() : nullptr;
    pointers_.push_back(&value.value);
  }
  options_.values = pointers_.data();
  options_.value_count = pointers_.size();
}

std::string OptionSet::key() const {
  std::ostringstream text;
  text.precision(17);
  for (const Value& value : values_) {
    text << value.name << '=' << value.value.integer << '/' << value.value.number << '/' << value.text.size() << ':'
         << value.text;
    for (const std::string& item : value.strings) text << ',' << item.size() << ':' << item;
    text << (value.map ? "{" + value.map->key() + "}" : "") << ';';
  }
  return text.str();
}

}  // namespace loupe
