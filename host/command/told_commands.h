#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace loupe {

/// An argument of a command, as --help tells it.
struct ToldArgument {
  std::vector<std::string> names;    ///< an option's with their hyphens; a positional has one without
  std::string help;                  ///< one sentence
  std::string value;                 ///< what kind of value it takes, such as "FILE"; empty for a flag
  std::vector<std::string> choices;  ///< the only values that it takes; empty where any will do
  std::string default_value;         ///< empty for none
  bool required = false, repeats = false;

  bool is_option() const { return names.front()[0] == '-'; }
  bool takes_value() const { return !value.empty(); }
  /// The longest name.
  const std::string& name() const { return names.back(); }
};

/// A command, as --help tells it.
struct ToldCommand {
  std::string name;  ///< empty for the command `loupe` itself
  std::string help, footer;
  std::vector<ToldArgument> arguments;  ///< positionals in their order, then options
};

/// Reads the commands from CLI11: `loupe` itself, then each command that is not hidden. The manual's
/// pages and the completion of shells are made from this, so that they cannot differ from --help.
std::vector<ToldCommand> told_commands(const CLI::App& app);

/// Writes a manual page a command into `folder`/man1, and that of the configuration into `folder`/man5; both are made
/// where they are missing, and pages of before are written over. Throws
/// std::system_error where that fails.
/// @param date  that the pages bear, as in 2026-01-31
void write_manual(const std::vector<ToldCommand>& commands, const std::string& date, const std::string& folder);

/// Writes the completion for bash (`loupe.bash`) and zsh (`_loupe`) into `folder`, as write_manual does.
void write_completion(const std::vector<ToldCommand>& commands, const std::string& folder);

}  // namespace loupe
