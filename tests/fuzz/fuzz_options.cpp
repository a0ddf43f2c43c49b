// Options of every type, with any default and value, are either read or refused, and those that were read have a key.

#include <yaml-cpp/yaml.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/yaml_text.h"
#include "loupe/config_error.h"
#include "loupe/error.h"
#include "options/option_set.h"

namespace {

loupe_option option(uint32_t type, const char* name, const loupe_option_value* default_value) {
  loupe_option made{};
  made.struct_size = sizeof made;
  made.type = type;
  made.name = name;
  made.default_value = default_value;
  made.help = "";
  return made;
}

}  // namespace

/// The input consists of a default, a null byte, and a map of options.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::size_t split = std::min(input.find('\0'), input.size());
  const std::string default_value = input.substr(0, split);
  const std::string given = split < input.size() ? input.substr(split + 1) : "";
  static const char* const choices[] = {"wide", "narrow"};
  // Defaults that a plugin may have: text that the option would refuse, and lists that contain null.
  const char* const texts[] = {default_value.c_str(), default_value.size() % 3 == 0 ? nullptr : "wide"};
  loupe_option_value value{
      sizeof(loupe_option_value), LOUPE_TYPE_STRING, "", 3, 0.5, default_value.c_str(), texts, 2, nullptr};
  loupe_option_value list = value, flag = value;
  list.type = LOUPE_TYPE_STRINGS;
  flag.type = LOUPE_TYPE_BOOLEAN;
  loupe_option options[] = {option(LOUPE_TYPE_BOOLEAN, "flag", &flag),
                            option(LOUPE_TYPE_INTEGER, "whole", nullptr),
                            option(LOUPE_TYPE_NUMBER, "number", default_value.size() % 2 == 0 ? nullptr : &value),
                            option(LOUPE_TYPE_STRING, "text", &value),
                            option(LOUPE_TYPE_STRINGS, "list", &list),
                            option(LOUPE_TYPE_STRINGS, "chosen", nullptr),
                            option(LOUPE_TYPE_MAP, "map", nullptr)};
  options[1].flags = LOUPE_OPTION_HAS_MINIMUM | LOUPE_OPTION_HAS_MAXIMUM;
  options[1].minimum = -1000;
  options[1].maximum = 1000;
  options[5].choices = choices;
  options[5].choice_count = 2;
  const loupe_option* pointers[7];
  for (int i = 0; i < 7; ++i) pointers[i] = &options[i];
  const loupe::OptionTable table{pointers, 7};
  loupe::Diagnostics diagnostics("fuzz.yaml");
  try {
    loupe::check_yaml_bounds(default_value, diagnostics);
    const auto set =
        loupe::OptionSet::from_yaml(table, loupe::read_yaml(given, diagnostics), "the component", diagnostics);
    if (!diagnostics.empty()) return 0;
    const double whole = set->get()->values[1]->number;
    if (!(whole >= -1000 && whole <= 1000) || set->key().empty()) std::abort();
    // Options that a lens passes in C must be read like those of YAML.
    loupe::OptionSet::from_values({pointers + 1, 2}, nullptr, "the component");
  } catch (const loupe::ConfigError&) {
  } catch (const YAML::Exception&) {  // the default is not YAML
  } catch (const loupe::Error&) {     // the option refuses the default
  }
  return 0;
}
