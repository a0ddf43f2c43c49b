#pragma once

#include <loupe/abi.h>

#include <CLI/CLI.hpp>

#include <string>
#include <utility>
#include <vector>

#include "options/option_set.h"

namespace loupe {

/// An argument of a command, as --help prints it.
struct ArgumentHelp {
  std::vector<std::string> names;    ///< an option's with their hyphens; a positional has one without
  std::string help;                  ///< one sentence
  std::string value;                 ///< the kind of value, such as "FILE"; empty for a flag
  std::vector<std::string> choices;  ///< the only values that it takes; empty for any value
  std::string default_value;         ///< empty for none
  bool required = false, repeats = false;

  bool is_option() const { return names.front()[0] == '-'; }
  bool takes_value() const { return !value.empty(); }
  /// The longest name.
  const std::string& name() const { return names.back(); }
};

/// A command, as --help prints it.
struct CommandHelp {
  std::string name;  ///< empty for the command `loupe` itself
  std::string help, footer;
  std::vector<ArgumentHelp> arguments;  ///< positionals in their order, then options
};

/// Reads the commands from CLI11: `loupe` itself, then each command that is not hidden. The manual's
/// pages and the completion of shells are made from this, so that they cannot differ from --help.
std::vector<CommandHelp> help_of_commands(const CLI::App& app);

/// Writes a manual page for each command into `folder`/man1, and one for the configuration into `folder`/man5. Makes
/// the folders, and overwrites earlier pages. Throws std::system_error if that fails.
/// @param date  the date on the pages, as in 2026-01-31
void write_manual(const std::vector<CommandHelp>& commands, const std::string& date, const std::string& folder);

/// Writes the completion for bash (`loupe.bash`) and zsh (`_loupe`) into `folder`, as write_manual does.
void write_completion(const std::vector<CommandHelp>& commands, const std::string& folder);

/// The options of each section of a configuration.
std::vector<std::pair<std::string, OptionTable>> all_sections();

/// "integer", "list".
const char* type_word(const loupe_option& option);
/// "; at least 1; at most 10", or nothing. If there are more than many_names choices, refers to the list below.
/// @param named  the last option before it that names a component; null without one
std::string limit_words(const loupe_option& option, const loupe_option* named);
/// "default 3", or "required".
std::string default_words(const loupe_option& option);

}  // namespace loupe
