#include "command/told_commands.h"

#include <sstream>

namespace loupe {
namespace {

ToldArgument told_argument(const CLI::Option& option) {
  ToldArgument told;
  for (const std::string& each : option.get_snames()) told.names.push_back("-" + each);
  for (const std::string& each : option.get_lnames()) told.names.push_back("--" + each);
  if (told.names.empty()) told.names.push_back(option.get_name(true));
  told.help = option.get_description();
  told.required = option.get_required();
  const bool is_flag = option.get_items_expected_max() == 0;
  if (is_flag) return told;
  told.repeats = option.get_expected_max() >= CLI::detail::expected_max_vector_size;
  told.default_value = option.get_default_str();
  // Behind the type comes what checks it: "TEXT:{yes,no}", "INT:INT in [1 - 1000]".
  told.value = option.get_type_name();
  const auto open = told.value.find('{'), close = told.value.find('}');
  if (open != std::string::npos && close != std::string::npos) {
    std::istringstream list(told.value.substr(open + 1, close - open - 1));
    for (std::string each; std::getline(list, each, ',');) told.choices.push_back(each);
  }
  told.value = told.value.substr(0, told.value.find(':'));
  return told;
}

ToldCommand told_command(const CLI::App& app, const std::string& name) {
  ToldCommand told{name, app.get_description(), app.get_footer(), {}};
  for (const bool positional : {true, false}) {
    for (const CLI::Option* each : app.get_options())
      if (each->nonpositional() != positional) told.arguments.push_back(told_argument(*each));
  }
  return told;
}

}  // namespace

std::vector<ToldCommand> told_commands(const CLI::App& app) {
  std::vector<ToldCommand> told = {told_command(app, "")};
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!each->get_group().empty()) told.push_back(told_command(*each, each->get_name()));
  return told;
}

}  // namespace loupe
