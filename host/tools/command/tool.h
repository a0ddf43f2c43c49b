#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "command/wrapped_output.h"
#include "loader/catalogue.h"

// A tool is its own executable, `loupe-NAME`, which `loupe NAME` runs and which builds and packages may leave
// out. Its arguments are declared here, so that `loupe --help`, the manual and the completion of shells know them all.
namespace loupe {

/// The folder of this program's file; empty if unknown.
std::filesystem::path own_folder();

/// Replaces this process with `loupe-NAME`, which is beside this program or in libexec/loupe of the installation.
/// Throws UsageError if that is not installed.
/// @param arguments  those after `loupe NAME`, ended by a null pointer
[[noreturn]] void run_tool(const std::string& name, char** arguments);

/// The output streams of a command.
struct Outputs {
  WrappedOutput wrapped, plain;  ///< both go to standard output; plain is for programs, and for text with a layout
  WrappedOutput errors;
};

/// Parses the command line and calls `answer`. Any error becomes a line on standard error.
/// @return what main() returns
int answer_command_line(CLI::App& app, int count, char** arguments, const std::function<int(Outputs&)>& answer);

/// The whole main() of a tool.
/// @param add_to  adds the command to `loupe`, as the command `loupe` does itself
int tool_main(int count, char** arguments, const std::function<CLI::App*(CLI::App&)>& add_to,
              const std::function<int(Outputs&)>& answer);

/// Declares the option --plugins: one path each time, so that the name or file behind it stays the command's.
void add_plugins_option(CLI::App& command, std::vector<std::string>& paths);
/// The catalogue of these folders and the default ones. Problems with plugins go to `errors`; the rest of the answer
/// stands.
/// @param opens_all  whether every plugin is needed
Catalogue standard_catalogue(const std::vector<std::string>& paths, bool opens_all, std::ostream& errors);

/// `loupe check`: holds plugin files to the rules of the boundary.
struct Check {
  std::vector<std::string> files;
  std::string options;
  bool as_json = false, only_rules = false;
  double seconds = 10;

  CLI::App* add_to(CLI::App& app);
};

/// `loupe view`: serves a page of the runs under some folders to a browser until the process is stopped.
struct View {
  static constexpr int usual_port = 7175;
  std::vector<std::string> folders, plugins;
  std::string address = "127.0.0.1";
  std::optional<int> port;

  CLI::App* add_to(CLI::App& app);
};

}  // namespace loupe
