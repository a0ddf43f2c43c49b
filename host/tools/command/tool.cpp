#include "command/tool.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <iostream>

#include "command/usage_error.h"
#include "core/find.h"
#include "core/text.h"
#include "loupe/config_error.h"
#include "record/reader/record_reader.h"
#include "run/program_section.h"

namespace loupe {
namespace {

constexpr int exit_invalid = 2;

/// "The following …" in the form for the middle of a sentence.
std::string uncapitalized(std::string text) {
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0)
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string without_command(const CLI::App& app) {
  const std::vector<std::string> given = app.remaining();
  if (given.empty() || given.front().empty() || given.front()[0] == '-')
    return "no command is given; run 'loupe --help' for a list";
  std::vector<std::string> known;
  for (const CLI::App* each :
       app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); }))
    known.push_back(each->get_name());
  return "there is no command '" + given.front() + "'" + suggestion(given.front(), known) +
         "; run 'loupe --help' for a list";
}

/// Why CLI11 refused a command line, and what to do: a line for standard error.
std::string command_line_error(const CLI::App* app, const CLI::Error& error) {
  const std::vector<CLI::App*> commands = app->get_subcommands();
  const std::string what = commands.empty() && error.get_name() == "RequiredError"
                               ? without_command(*app)
                               : uncapitalized(error.what()) + "; run 'loupe " +
                                     (commands.empty() ? "" : commands.front()->get_name() + " ") +
                                     "--help' for its arguments";
  return "loupe: error: " + what + "\n";
}

}  // namespace

std::filesystem::path own_folder() {
  std::error_code ignored;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (!own.empty()) return own.parent_path();
  // A container may have no /proc: by the name under which the system started this.
  const auto* name = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return name != nullptr ? std::filesystem::canonical(name, ignored).parent_path() : std::filesystem::path();
}

void run_tool(const std::string& name, char** arguments) {
  const std::string program = "loupe-" + name;
  std::vector<char*> all = {const_cast<char*>(program.c_str())};
  do all.push_back(*arguments);
  while (*arguments++ != nullptr);
  const std::filesystem::path own = own_folder();
  if (own.empty()) throw UsageError("the folder of this program is unknown, so " + program + " is not found");
  for (const char* folder : {".", LOUPE_TOOL_FOLDER}) {
    const std::string file = (own / folder / program).lexically_normal();
    ::execv(file.c_str(), all.data());
    if (errno != ENOENT) throw UsageError("'" + file + "' cannot be run: " + std::strerror(errno));
  }
  throw UsageError("this Loupe has no " + program + "; install the package loupe-tools, or build Loupe with '" + name +
                   "' in LOUPE_TOOLS");
}

int answer_command_line(CLI::App& app, int count, char** arguments, const std::function<int(Outputs&)>& answer) {
  Outputs outputs{
      {std::cout, output_columns()}, {std::cout, std::nullopt}, {std::cerr, terminal_columns(STDERR_FILENO)}};
  app.failure_message(&command_line_error);
  // Checks a section of a configuration that belongs to a part with LibTorch.
  static constexpr FindTable sections = {nullptr, nullptr, &check_run_program};
  link_part(Part::run, &sections);
  try {
    app.parse(count, arguments);
    const int code = answer(outputs);
    if (outputs.wrapped.flush()) return code;
    outputs.errors
        << "loupe: error: standard output accepts no more, so a part of this is missing; is the disk full?\n";
    return 1;
  } catch (const CLI::ParseError& e) {
    return app.exit(e, outputs.wrapped, outputs.errors) == 0 ? 0 : exit_invalid;
  } catch (const ConfigError& e) {
    outputs.errors << e.what() << "\n";  // begins with its place
    return exit_invalid;
  } catch (const replay::RecordError& e) {
    outputs.errors << e.what() << "\n";  // begins with its place, too
    return exit_invalid;
  } catch (const UsageError& e) {
    outputs.errors << "loupe: error: " << e.what() << "\n";
    return exit_invalid;
  } catch (const std::exception& e) {
    outputs.errors << "loupe: error: " << e.what() << "\n";
    return 1;
  }
}

int tool_main(int count, char** arguments, const std::function<CLI::App*(CLI::App&)>& add_to,
              const std::function<int(Outputs&)>& answer) {
  CLI::App app("", "loupe");
  std::string command = add_to(app)->get_name();
  std::vector<char*> all(arguments, arguments + count);
  all.insert(all.begin() + 1, command.data());
  return answer_command_line(app, static_cast<int>(all.size()), all.data(), answer);
}

void add_plugins_option(CLI::App& command, std::vector<std::string>& paths) {
  command.add_option("--plugins", paths, "Another folder or file to search first; repeatable")
      ->allow_extra_args(false)
      ->type_name("FILE");
}

Catalogue standard_catalogue(const std::vector<std::string>& paths, bool opens_all, std::ostream& errors) {
  Catalogue catalogue;
  for (const std::string& path : paths) catalogue.add_path(path);
  catalogue.add_standard_paths();
  if (opens_all) catalogue.open_all();
  for (const std::string& problem : catalogue.problems()) errors << "loupe: warning: " << problem << "\n";
  return catalogue;
}

CLI::App* Check::add_to(CLI::App& app) {
  CLI::App* subcommand =
      app.add_subcommand("check", "Check plugins against the rules of the boundary (exit code 1 if one breaks a rule)");
  subcommand->add_option("file", files, "Plugins, for example build/my_lens.so")->type_name("FILE");
  subcommand->add_flag("--json", as_json,
                       "Print a JSON array with a row for each rule: file, component, rule, passed, detail, same_as");
  subcommand->add_flag("--rules", only_rules, "List the rules and check no plugin");
  subcommand->add_option("--options", options, "YAML map of options for the components: '{scale: 2}'")
      ->type_name("YAML");
  subcommand->add_option("--timeout", seconds, "Seconds that a plugin may take for each rule")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 3600.0));
  return subcommand;
}

CLI::App* View::add_to(CLI::App& app) {
  CLI::App* subcommand = app.add_subcommand(
      "view", "Serve a live page of the runs under some folders: their states, reports and comparisons");
  subcommand->add_option("folders", folders, "Folders with runs at any depth")->required()->type_name("FOLDER");
  subcommand
      ->add_option("--port", port,
                   "Port (default: " + std::to_string(usual_port) + " or the next free one; 0: any free one)")
      ->check(CLI::Range(0, 65535));
  subcommand
      ->add_option(
          "--address", address,
          "Address to listen on (default: 127.0.0.1, for this machine only). On any other, a page needs the token "
          "in the printed address")
      ->type_name("ADDRESS");
  add_plugins_option(*subcommand, plugins);
  return subcommand;
}

}  // namespace loupe
