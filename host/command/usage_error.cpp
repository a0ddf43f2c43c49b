#include "command/usage_error.h"

#include <cctype>
#include <vector>

#include "core/text.h"

namespace loupe {
namespace {

/// "The following …" as it stands within a sentence.
std::string uncapitalized(std::string text) {
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0)
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string without_command(const CLI::App& app) {
  const std::vector<std::string> given = app.remaining();
  if (given.empty() || given.front().empty() || given.front()[0] == '-')
    return "no command is given; run 'loupe --help' for what there is";
  std::vector<std::string> known;
  for (const CLI::App* each :
       app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); }))
    known.push_back(each->get_name());
  return "there is no command '" + given.front() + "'" + suggestion(given.front(), known) +
         "; run 'loupe --help' for what there is";
}

}  // namespace

std::string command_line_error(const CLI::App* app, const CLI::Error& error) {
  const std::vector<CLI::App*> commands = app->get_subcommands();
  const std::string what = commands.empty() && error.get_name() == "RequiredError"
                               ? without_command(*app)
                               : uncapitalized(error.what()) + "; run 'loupe " +
                                     (commands.empty() ? "" : commands.front()->get_name() + " ") +
                                     "--help' for what it takes";
  return "loupe: error: " + what + "\n";
}

}  // namespace loupe
