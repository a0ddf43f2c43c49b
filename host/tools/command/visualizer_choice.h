#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "loader/catalogue.h"
#include "record/file_stamp.h"

namespace loupe {

/// The command line's options for visualizers that records are played to.
struct VisualizerArguments {
  std::vector<std::string> names;
  std::vector<std::string> options;  ///< "path=report.html", or "html.path=report.html"; values are YAML
  std::string out = ".";             ///< the folder of their files
  bool force = false;                ///< whether existing files may be overwritten

  void add_to(CLI::App& subcommand);
};

/// The visualizers, with their options. Throws UsageError for an unknown name or option, or a value that does not fit.
std::vector<ComponentConfig> choose_visualizers(const VisualizerArguments& arguments, const Catalogue& catalogue);
bool declares(const CatalogueEntry& entry, const std::string& option);
/// Whether none of them writes to the terminal.
bool all_write_files(const std::vector<ComponentConfig>& visualizers);

/// Makes the folder. Throws Error when it cannot be made or nothing can be written in it.
void make_out_folder(const std::string& folder);

/// Declares the option --force of a command that writes files.
void add_force(CLI::App& command, bool& force);

/// Throws UsageError if a file exists and `force` is not given.
/// @param command  the command that writes there, such as "replay"
void keep_existing(const std::filesystem::path& path, const std::string& command, bool force);

/// The files that visualizers write for a command. Existing files are kept unless the user allows to overwrite them.
/// Reports the files that were written.
class OutputFiles {
 public:
  OutputFiles(std::string command, bool force) : command_(std::move(command)), force_(force) {}

  /// Keeps the files that a visualizer is going to write for a run in `folder`, as keep_existing does: its option
  /// `path`, and files whose names add to it, such as values.findings.csv beside values.csv. Throws UsageError,
  /// whatever `force` is, also for a folder that is not empty, with which new files would mix, and for one of
  /// `records`.
  void expect(const ComponentConfig& visualizer, const std::filesystem::path& folder,
              const std::vector<std::string>& records);
  /// A line for each that was written since: "wrote runs/report.html".
  void tell(std::ostream& out) const;

 private:
  std::string command_;
  bool force_;
  std::vector<std::filesystem::path> paths_;
  std::map<std::filesystem::path, FileStamp> before_;
};

}  // namespace loupe
