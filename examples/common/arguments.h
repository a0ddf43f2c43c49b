#pragma once

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>

namespace examples {

/// The command-line arguments of every example trainer.
struct Arguments {
  std::string config;  ///< the YAML that says what Loupe watches
  int epochs = 0;
  std::string out;   ///< where the run's files go: the YAML's run.dir starts here
  std::string data;  ///< the data file, if the trainer reads one
};

/// Reads the command line, with `arguments` as defaults, and changes to the folder `out`. Prints help or the error and
/// exits if there is nothing to train. `add_options` adds the options of one trainer.
inline Arguments read_arguments(int argc, char** argv, const std::string& about, Arguments arguments,
                                const std::function<void(CLI::App& app)>& add_options = {}) {
  CLI::App app(about);
  app.option_defaults()->always_capture_default();
  app.add_option("--config", arguments.config, "what Loupe watches, in YAML");
  app.add_option("--epochs", arguments.epochs, "how often to go through the data")->check(CLI::Range(1, 1000000));
  app.add_option("--out", arguments.out, "where the run's files go: the YAML's run.dir starts here");
  if (!arguments.data.empty()) app.add_option("--data", arguments.data, "the digits as comma-separated values");
  if (add_options) add_options(app);
  try {
    app.parse(argc, argv);
    if (arguments.out != ".") {
      arguments.config = std::filesystem::absolute(arguments.config).string();
      if (!arguments.data.empty()) arguments.data = std::filesystem::absolute(arguments.data).string();
      std::filesystem::create_directories(arguments.out);
      std::filesystem::current_path(arguments.out);
    }
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  } catch (const std::filesystem::filesystem_error& error) {
    std::cerr << error.what() << '\n';
    std::exit(1);
  }
  return arguments;
}

}  // namespace examples
