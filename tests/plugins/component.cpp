#include "component.h"

#include "../option_default.h"

#include <dlfcn.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>

namespace loupe::test {

const loupe_plugin& load_plugin(const std::string& name) {
  static std::map<std::string, const loupe_plugin*> loaded;
  const loupe_plugin*& plugin = loaded[name];
  if (plugin != nullptr) return *plugin;
  const std::string file = LOUPE_TEST_PLUGINS "/" + name + ".so";
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto* entry = static_cast<const loupe_entry*>(dlsym(library, LOUPE_ENTRY_SYMBOL));
  if (entry == nullptr || entry->magic != LOUPE_MAGIC) throw std::runtime_error(file + " is no plugin");
  plugin = static_cast<const loupe_plugin*>(entry->get_extension(LOUPE_PLUGIN_ID));
  if (plugin == nullptr) throw std::runtime_error(file + " offers nothing");
  return *plugin;
}

const loupe_component* find_component(const std::string& plugin, const char* interface_id, const std::string& name) {
  const loupe_plugin& found = load_plugin(plugin);
  for (size_t i = 0; i < found.component_count; ++i) {
    const loupe_component& component = *found.components[i];
    if (std::strcmp(component.interface_id, interface_id) != 0) continue;
    if (name == component.name) return &component;
    for (size_t a = 0; a < component.alias_count; ++a) {
      if (name == component.aliases[a]) return &component;
    }
  }
  throw std::runtime_error("the plugin " + plugin + " has no " + interface_id + " named " + name);
}

ComponentOptions::ComponentOptions(const loupe_component& component) {
  for (size_t i = 0; i < component.option_count; ++i) {
    Value& value = values_.emplace_back();
    set(*component.options[i], value, test::default_text(*component.options[i]));
    pointers_.push_back(&value.value);
  }
  options_ = {sizeof(loupe_options), 0, pointers_.data(), pointers_.size()};
}

ComponentOptions::ComponentOptions(const loupe_component& component, const std::string& yaml)
    : ComponentOptions(component) {
  for (const auto& item : YAML::Load(yaml)) {
    const auto name = item.first.as<std::string>();
    Value& value = at(component, name);
    set(*component.options[static_cast<size_t>(std::find(pointers_.begin(), pointers_.end(), &value.value) -
                                               pointers_.begin())],
        value, YAML::Dump(item.second));
  }
}

ComponentOptions::ComponentOptions(const loupe_component& component, const loupe_options* set)
    : ComponentOptions(component) {
  for (size_t i = 0; set != nullptr && i < set->value_count; ++i) {
    const loupe_option_value& given = *set->values[i];
    Value& value = at(component, given.name);
    if (given.type != value.value.type) throw std::runtime_error(std::string(given.name) + " has another type");
    const char* const name = value.value.name;
    value.text = given.string != nullptr ? given.string : "";
    value.texts.assign(given.strings, given.strings + given.string_count);
    value.pointers.clear();
    for (const std::string& text : value.texts) value.pointers.push_back(text.c_str());
    value.value = {sizeof(loupe_option_value),
                   given.type,
                   name,
                   given.integer,
                   given.number,
                   value.text.c_str(),
                   value.pointers.data(),
                   value.pointers.size(),
                   nullptr};
  }
}

ComponentOptions::Value& ComponentOptions::at(const loupe_component& component, const std::string& name) {
  for (Value& value : values_) {
    if (name == value.value.name) return value;
  }
  throw std::runtime_error(std::string(component.name) + " declares no option " + name);
}

void ComponentOptions::set(const loupe_option& declared, Value& value, const std::string& yaml) {
  const YAML::Node node = YAML::Load(yaml);
  value.value = {sizeof(loupe_option_value), declared.type, declared.name, 0, 0, nullptr, nullptr, 0, nullptr};
  value.texts.clear();
  switch (declared.type) {
    case LOUPE_TYPE_BOOLEAN:
      value.value.integer = node.as<bool>();
      break;
    case LOUPE_TYPE_INTEGER:
      value.value.integer = node.as<int64_t>();
      value.value.number = static_cast<double>(value.value.integer);
      break;
    case LOUPE_TYPE_NUMBER:
      value.value.number = node.as<double>();
      break;
    case LOUPE_TYPE_STRING:
      value.texts = {node.as<std::string>()};
      break;
    default:
      value.texts =
          node.IsScalar() ? std::vector<std::string>{node.as<std::string>()} : node.as<std::vector<std::string>>();
      if (value.texts == std::vector<std::string>{"none"}) value.texts.clear();
  }
  value.pointers.clear();
  for (const std::string& text : value.texts) {
    const auto* const end = declared.choices + declared.choice_count;
    if (declared.choice_count > 0 && std::none_of(declared.choices, end, [&](const char* c) { return text == c; })) {
      throw std::runtime_error(std::string(declared.name) + " may not be " + text);
    }
    value.pointers.push_back(text.c_str());
  }
  if (declared.type == LOUPE_TYPE_STRING) value.value.string = value.texts[0].c_str();
  value.value.strings = value.pointers.data();
  value.value.string_count = value.pointers.size();
}

Instance::Instance(const loupe_component& component, const ComponentOptions& options) : component_(component) {
  detail::ErrorBuffer error;
  error.check(component.create(&component, &fake_host(), options.get(), &self_, error.get()));
}

}  // namespace loupe::test
