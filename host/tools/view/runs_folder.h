#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace loupe::view {

/// A folder that contains the record of a run.
struct FoundRun {
  std::filesystem::path folder;  ///< absolute, without links; the folder of the merged run if the run was merged
  std::string shown;             ///< for people: the path of the folder, from the folder on the command line
  bool is_merged = false;        ///< `folder` is the merged run, within the run's own folder

  /// The path of the record while it is not compressed.
  std::filesystem::path record() const { return folder / "record.jsonl"; }
  std::filesystem::path report() const { return folder / "report.html"; }
  /// The file of tags and notes, in the run's own folder: merging again does not change it.
  std::filesystem::path notes() const;
};

/// The limits of a search, since a tree may be endless.
struct SearchLimits {
  int depth = 16;
  std::size_t folders = 20000, runs = 1000;
};

struct FoundRuns {
  std::vector<FoundRun> runs;
  std::string left_out;  ///< a sentence about folders that were not searched; otherwise empty
};

/// Finds the runs in and under these folders, each once; those nearest to the top come first. Follows no link below the
/// folders, and skips folders that cannot be read.
FoundRuns find_runs(const std::vector<std::string>& folders, const SearchLimits& limits = {});

/// The name of the file that describes an incident, in the incident's folder.
inline constexpr const char* incident_file = "about.json";

/// Whether this is a regular file and not a link.
bool is_own_file(const std::filesystem::path& file);

}  // namespace loupe::view
