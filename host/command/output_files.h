#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/run_folder.h"

namespace loupe {

/// Declares the option --force of a command that writes files.
void add_force(CLI::App& command, bool& force);

/// Throws UsageError where there is a file already and `force` is not given.
/// @param command  that writes there, such as "replay"
void keep_existing(const std::filesystem::path& path, const std::string& command, bool force);

/// The files that visualizers write for a command: what is there before stays as it is unless the user says otherwise,
/// and what was written is told.
class OutputFiles {
 public:
  OutputFiles(std::string command, bool force) : command_(std::move(command)), force_(force) {}

  /// Keeps what a visualizer is going to write for a run in `folder`, as keep_existing does: its option `path`, and
  /// what goes by that name with more in it, such as values.findings.csv beside values.csv. Throws UsageError, whatever
  /// `force` is, also for a folder with something in it, which new files would mix with, and where that is one of
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
