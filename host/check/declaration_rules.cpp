// What a component says of itself.

#include <cctype>
#include <set>

#include "check/session.h"
#include "config/config.h"
#include "options/diagnostics.h"
#include "options/option_set.h"

namespace loupe::check {
namespace {

bool is_snake_case(const char* name) {
  if (name == nullptr || std::islower(static_cast<unsigned char>(*name)) == 0) return false;
  for (const char* c = name; *c != '\0'; ++c) {
    const auto letter = static_cast<unsigned char>(*c);
    if (std::islower(letter) == 0 && std::isdigit(letter) == 0 && letter != '_') return false;
  }
  return true;
}

std::string shown(const char* text) {
  return text != nullptr ? "'" + std::string(text) + "'" : "null";
}

void need_line(const char* text, const std::string& what) {
  if (text == nullptr || *text == '\0') throw Broken(what + " has no help; say in one line what it does");
  if (std::string(text).find('\n') != std::string::npos) throw Broken("the help of " + what + " has several lines");
}

}  // namespace

void check_functions(const Subject& subject) {
  const loupe_component& component = *subject.component;
  if (!kind_of(component.interface_id))
    throw Broken(shown(component.interface_id) + " is no kind of component that this Loupe knows");
  if (component.create == nullptr || component.destroy == nullptr) throw Broken("create or destroy is null");
  if (component.table == nullptr) throw Broken("its table is null");
  if (component.option_count > 0 && component.options == nullptr) throw Broken("its options are null");
  for (std::size_t i = 0; i < component.option_count; ++i) {
    const loupe_option* option = component.options[i];
    if (option == nullptr || !LOUPE_REACHES(*option, choice_count) || option->name == nullptr)
      throw Broken("option " + std::to_string(i + 1) + " is null, too short or without a name");
  }
  const std::string lacking = lacking_function(subject.kind, component.table);
  if (!lacking.empty())
    throw Broken("it lacks '" + lacking + "', or its table ends before; set it, and struct_size to sizeof the table");
}

void check_names(const Subject& subject) {
  const loupe_component& component = *subject.component;
  if (!is_snake_case(component.name))
    throw Broken("its name " + shown(component.name) + " is not snake_case; write it as 'my_lens'");
  for (std::size_t i = 0; i < component.alias_count; ++i) {
    if (!is_snake_case(component.aliases[i]))
      throw Broken("its alias " + shown(component.aliases[i]) + " is not snake_case");
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < component.option_count; ++i) {
    const char* name = component.options[i]->name;
    if (!is_snake_case(name)) throw Broken("its option " + shown(name) + " is not snake_case; write it as 'my_option'");
    if (!seen.insert(name).second) throw Broken("it declares the option " + shown(name) + " twice; keep one");
  }
}

void check_help(const Subject& subject) {
  const loupe_component& component = *subject.component;
  need_line(component.help, "it");
  for (std::size_t i = 0; i < component.option_count; ++i)
    need_line(component.options[i]->help, "the option " + shown(component.options[i]->name));
}

void check_defaults(const Subject& subject) {
  const loupe_component& component = *subject.component;
  Diagnostics diagnostics(subject.file);
  OptionSet::check_defaults({component.options, component.option_count}, component.name, diagnostics);
  if (!diagnostics.empty()) throw Broken(diagnostics.messages());
}

void check_options(const Subject& subject) {
  read_options(*subject.component, subject.options);
}

void check_example(const Subject& subject) {
  Catalogue catalogue;
  catalogue.add_path(subject.file);
  catalogue.add_standard_paths();
  const std::string list = subject.kind == Kind::visualizer ? "visualizers" : "lenses";
  std::string example = subject.component->example;
  if (example.rfind("- ", 0) == 0) example.erase(0, 2);
  try {
    Config::from_text("loupe: 1\n" + list + ": [{" + example + "}]\n", "example", ".", std::move(catalogue));
  } catch (const std::exception& reason) {
    throw Broken("the example \"" + std::string(subject.component->example) + "\" is refused: " + reason.what());
  }
}

}  // namespace loupe::check
