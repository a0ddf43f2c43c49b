#include "command/tool.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "command/usage_error.h"
#include "loupe/config_error.h"

namespace loupe {
namespace {

constexpr int exit_invalid = 2;

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
  for (const char* folder : {".", LOUPE_TOOL_FOLDER}) {
    const std::string file = (own_folder() / folder / program).lexically_normal();
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
  try {
    app.parse(count, arguments);
    const int code = answer(outputs);
    if (outputs.wrapped.flush()) return code;
    outputs.errors << "loupe: error: standard output takes no more, so that a part of this is missing; "
                      "is the disk full?\n";
    return 1;
  } catch (const CLI::ParseError& e) {
    return app.exit(e, outputs.wrapped, outputs.errors) == 0 ? 0 : exit_invalid;
  } catch (const ConfigError& e) {
    outputs.errors << e.what() << "\n";  // begins with its place
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

CLI::App* Check::add_to(CLI::App& app) {
  CLI::App* subcommand =
      app.add_subcommand("check", "Whether plugins keep the rules of the boundary; exits with 1 when one does not");
  subcommand->add_option("file", files, "The plugins, such as build/my_lens.so")->type_name("FILE");
  subcommand->add_flag("--json", as_json, "An array with a row a rule: file, component, rule, passed, detail, same_as");
  subcommand->add_flag("--rules", only_rules, "List the rules, a line each, and look at no plugin");
  subcommand->add_option("--options", options, "A YAML map that components are made with: '{scale: 2}'")
      ->type_name("YAML");
  subcommand->add_option("--timeout", seconds, "Seconds that a plugin may take for a rule")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 3600.0));
  return subcommand;
}

}  // namespace loupe
