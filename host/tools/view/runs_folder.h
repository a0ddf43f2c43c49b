#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace loupe::view {

/// A folder that has a record of a run.
struct FoundRun {
  std::filesystem::path folder;  ///< absolute, without links; of a run whose processes were merged, that of the merged
  std::string shown;             ///< for people: the folder as it was named, and the way from there
  bool is_merged = false;        ///< the folder is that of the merged, in the run's own

  /// By the name that it has while it is not compressed.
  std::filesystem::path record() const { return folder / "record.jsonl"; }
  std::filesystem::path report() const { return folder / "report.html"; }
  /// What people say of it, which merging its processes again does not touch.
  std::filesystem::path notes() const;
};

/// What a search looks at, at most: a tree may have no end.
struct SearchLimits {
  int depth = 16;
  std::size_t folders = 20000, runs = 1000;
};

struct FoundRuns {
  std::vector<FoundRun> runs;
  std::string left_out;  ///< a sentence on what was not looked at; empty where everything was
};

/// The runs under these folders, the folders themselves too, each once; those nearest to the top come first. Follows no
/// link below the folders, and passes over what it may not read.
FoundRuns find_runs(const std::vector<std::string>& folders, const SearchLimits& limits = {});

/// The name of the file that describes an incident, in the incident's folder.
inline constexpr const char* incident_file = "about.json";

/// Whether this is a file and no link.
bool is_own_file(const std::filesystem::path& file);

}  // namespace loupe::view
