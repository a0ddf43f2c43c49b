#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "config/config.h"
#include "loader/catalogue.h"

namespace loupe {

/// What the command line says of the visualizers that records are played to.
struct VisualizerArguments {
  std::vector<std::string> names;
  std::vector<std::string> options;  ///< "path=report.html", or "html.path=report.html"; values are YAML
  std::string out = ".";             ///< the folder of their files
  bool force = false;                ///< whether files that are there may be overwritten

  void add_to(CLI::App& subcommand);
};

/// The visualizers, with their options. Throws UsageError for an unknown name or option, or a value that does not fit.
std::vector<ComponentConfig> choose_visualizers(const VisualizerArguments& arguments, const Catalogue& catalogue);
bool declares(const CatalogueEntry& entry, const std::string& option);
/// Whether none of them writes to the terminal.
bool all_write_files(const std::vector<ComponentConfig>& visualizers);

/// Makes the folder. Throws Error when it cannot be made or nothing can be written in it.
void make_out_folder(const std::string& folder);

}  // namespace loupe
