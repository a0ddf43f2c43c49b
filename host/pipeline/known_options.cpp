#include "pipeline/known_options.h"

#include <cstddef>
#include <cstring>
#include <utility>

namespace loupe {
namespace {

template <class Number>
void add_bytes(std::string& key, const Number& number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  key.append(bytes, sizeof number);
}

void add_text(std::string& key, const char* text) {
  const std::size_t size = std::strlen(text);
  add_bytes(key, size);
  key.append(text, size);
}

/// Adds all that distinguishes one value from another. False for an invalid one, and for one that only YAML can give.
bool add_value(std::string& key, const loupe_option_value& value) {
  if (value.name == nullptr || value.struct_size < sizeof value) return false;
  add_text(key, value.name);
  add_bytes(key, value.type);
  switch (value.type) {
    case LOUPE_TYPE_BOOLEAN:
    case LOUPE_TYPE_INTEGER:
      add_bytes(key, value.integer);
      return true;
    case LOUPE_TYPE_NUMBER:
      add_bytes(key, value.number);
      return true;
    case LOUPE_TYPE_STRING:
      add_text(key, value.string != nullptr ? value.string : "");
      return true;
    case LOUPE_TYPE_STRINGS:
      add_bytes(key, value.string_count);
      for (std::size_t i = 0; i < value.string_count; ++i) {
        if (value.strings == nullptr || value.strings[i] == nullptr) return false;
        add_text(key, value.strings[i]);
      }
      return true;
    default:
      return false;
  }
}

/// Empty where no key can distinguish the values.
std::string key_of(const CatalogueEntry& entry, const loupe_options* values) {
  std::string key;
  add_bytes(key, entry.component);
  const std::size_t count = values != nullptr ? values->value_count : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const loupe_option_value* value = values->values != nullptr ? values->values[i] : nullptr;
    if (value == nullptr || !add_value(key, *value)) return "";
  }
  return key;
}

}  // namespace

std::shared_ptr<const OptionSet> KnownOptions::of(const CatalogueEntry& entry, const loupe_options* values,
                                                  const std::string& owner) {
  const std::string key = key_of(entry, values);
  if (key.empty()) return OptionSet::from_values(entry.options(), values, owner);
  if (const auto known = sets_.find(key); known != sets_.end()) return known->second;
  std::shared_ptr<const OptionSet> set = OptionSet::from_values(entry.options(), values, owner);
  return sets_.emplace(key, std::move(set)).first->second;
}

}  // namespace loupe
