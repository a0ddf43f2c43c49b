#include "command/describe.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "core/config.h"
#include "core/suggestion.h"

namespace loupe {
namespace {

constexpr Kind kinds[] = {Kind::lens, Kind::visualizer, Kind::preprocessor, Kind::gatherer};

const char* type_word(uint32_t type) {
  switch (type) {
    case LOUPE_OPTION_BOOLEAN:
      return "boolean";
    case LOUPE_OPTION_INTEGER:
      return "integer";
    case LOUPE_OPTION_NUMBER:
      return "number";
    case LOUPE_OPTION_STRING:
      return "text";
    case LOUPE_OPTION_STRINGS:
      return "list";
    default:
      return "map";
  }
}

std::string limits(const loupe_option& option) {
  std::ostringstream text;
  if (option.choice_count > 0) {
    text << "; one of";
    for (std::size_t i = 0; i < option.choice_count; ++i) text << (i == 0 ? " " : ", ") << option.choices[i];
  }
  if (LOUPE_OFFERS(option, names)) {
    if (const auto kind = kind_of(option.names)) text << "; the name of a " << kind_name(*kind);
  }
  if (LOUPE_OFFERS(option, options_of)) text << "; what is given to " << option.options_of;
  if (std::isfinite(option.minimum)) text << "; at least " << option.minimum;
  if (std::isfinite(option.maximum)) text << "; at most " << option.maximum;
  return text.str();
}

void write_options(const OptionTable& table, std::ostream& out) {
  std::size_t width = 0;
  for (const loupe_option* option : table) width = std::max(width, std::string(option->name).size());
  for (const loupe_option* option : table) {
    out << "  " << std::left << std::setw(static_cast<int>(width)) << option->name << "  " << std::setw(7)
        << type_word(option->type) << "  default " << option->default_value << limits(*option) << "\n"
        << std::string(width + 4, ' ') << option->help << "\n";
  }
  if (table.count == 0) out << "  no options\n";
}

}  // namespace

void list_components(const Catalogue& catalogue, std::ostream& out) {
  std::size_t width = 0;
  for (const CatalogueEntry& entry : catalogue.entries())
    width = std::max(width, std::string(entry.component->name).size());
  for (const Kind kind : kinds) {
    out << kind_name(kind) << (kind == Kind::lens ? "es" : "s") << "\n";
    for (const std::string& name : catalogue.names(kind)) {
      const CatalogueEntry& entry = *catalogue.find(kind, name);
      out << "  " << std::left << std::setw(static_cast<int>(width)) << name << "  " << entry.component->help << "\n"
          << std::string(width + 4, ' ') << entry.library->file << " (" << entry.library->plugin->name << " "
          << entry.library->plugin->version << ", ABI " << entry.library->abi_major << "." << entry.library->abi_minor
          << ")\n";
    }
  }
}

bool describe_component(const Catalogue& catalogue, const std::string& name, std::ostream& out, std::ostream& errors) {
  if (name == "config") {
    for (const auto& [section, table] : host_sections()) {
      out << section << "\n";
      write_options(table, out);
    }
    return true;
  }
  bool found = false;
  std::vector<std::string> known;
  for (const Kind kind : kinds) {
    const std::vector<std::string> names = catalogue.names(kind);
    known.insert(known.end(), names.begin(), names.end());
    const CatalogueEntry* entry = catalogue.find(kind, name);
    if (entry == nullptr) continue;
    found = true;
    out << kind_name(kind) << " " << entry->component->name << ": " << entry->component->help << "\n"
        << "from " << entry->library->file << "\n";
    write_options(entry->options(), out);
  }
  if (!found) errors << "loupe: error: there is no component '" << name << "'" << suggestion(name, known) << "\n";
  return found;
}

}  // namespace loupe
