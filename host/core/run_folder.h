#pragma once

#include <loupe/files/descriptor.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace loupe {

/// Stands in a run's folder while the run goes on, locked and with its RunHolder as text.
inline constexpr const char* run_lock_name = ".loupe.lock";
/// What people say of the run whose files lie beside it, as `loupe view` keeps it.
inline constexpr const char* run_notes_name = "notes.json";
/// What folders of kept files begin with; a number follows.
inline constexpr const char* older_folder_prefix = "older-";
/// What folders begin with in which a run keeps its last steps; the number of a step follows.
inline constexpr const char* incident_folder_prefix = "incident-";

/// The folder of one run's files: no other run writes there at the same time, and what an earlier one left is kept.
/// Trainer's thread.
class RunFolder {
 public:
  /// Relative paths start at the working directory of this moment.
  RunFolder();
  /// Gives the folder free for others. What a process that was killed held is free at once.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  /// Takes `directory`, made if need be, for this run alone; gives its name, or "NAME-2", "NAME-3", … where another
  /// process or inspector is writing there, which is told. Where it cannot be locked it is taken unlocked.
  std::string take(const std::string& directory);

  /// Whether the folder that was taken is this run's no more: it was deleted or moved, or another holds its lock.
  bool is_lost() const;
  /// Takes a folder of the same name anew, or "NAME-2", …, after it was lost, and tells so.
  std::string retake(const std::string& directory);

  /// Moves what an earlier run left at these paths, which start at the folder, into a folder "older-1", "older-2", …
  /// beside each, and tells so; gives whether there was anything. A path is looked at once. Of folders, only those
  /// within the run's are moved. What no path names goes with them: its incidents, and notes.json beside a record.
  bool keep_older(const std::vector<std::string>& named);

 private:
  std::string take_free(const std::string& directory);
  bool lock(const std::filesystem::path& folder);
  void release();
  bool is_within(const std::filesystem::path& path) const;
  bool is_older(const std::filesystem::path& path) const;
  std::vector<std::string> take_unnamed();

  std::filesystem::path start_, folder_;
  bool made_ = false;  // the folder was not there before
  bool looked_for_unnamed_ = false;
  int descriptor_ = -1;               // of the lock
  std::string holder_;                // who has the folder that was asked for
  std::optional<Descriptor> opened_;  // the folder itself, wherever it is moved
  std::set<std::filesystem::path> seen_;
};

}  // namespace loupe
