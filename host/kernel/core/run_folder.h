#pragma once

#include <loupe/files/descriptor.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/shared.h"

namespace loupe {

/// The most bytes of a lock's text.
inline constexpr std::size_t longest_run_lock = 512;

/// The process that holds a run's folder, as written in its lock.
struct RunHolder {
  int process = 0;      ///< 0 if unknown
  std::string host;     ///< the machine's name, for people; may be empty
  std::string machine;  ///< distinguishes machines, their boots and process namespaces; may be empty

  LOUPE_SHARED static RunHolder this_process();
  /// Reads the result of text(); a text of any other form gives no process.
  LOUPE_SHARED static RunHolder in(std::string_view text);
  LOUPE_SHARED std::string text() const;

  /// Whether its process number is valid in this process's namespace.
  LOUPE_SHARED bool is_of_this_machine() const;
  /// "process 12", "process 12 on trainbox"; "another run" if unknown.
  std::string in_words() const;
};

/// The lock file in the folder of an active run; its text is the RunHolder.
inline constexpr const char* run_lock_name = ".loupe.lock";
/// The user's notes on the run in this folder, written by `loupe view`.
inline constexpr const char* run_notes_name = "notes.json";
/// The list of the run's loaded plugins, beside its record; `loupe list --loaded` reads it.
inline constexpr const char* loaded_file_name = ".loupe.loaded.json";
/// The prefix of folders of kept files; a number follows.
inline constexpr const char* older_folder_prefix = "older-";

/// The folder of one run's files: no other run writes there at the same time, and an earlier run's files are kept.
/// Trainer's thread.
class RunFolder {
 public:
  /// Relative paths start at the current working directory.
  RunFolder();
  /// Releases the folder. The folder of a killed process is free at once.
  ~RunFolder();

  /// Claims `directory`, creating it if needed, and returns its name; if another process or inspector writes there,
  /// warns and returns "NAME-2", "NAME-3", …. A folder that cannot be locked is claimed unlocked, with a warning.
  std::string take(const std::string& directory);

  /// Whether the claimed folder was deleted or moved, or another run holds its lock. If only the lock was deleted,
  /// locks the folder again.
  bool is_lost();
  /// Claims a folder of the same name, or "NAME-2", …, after the first was lost, with a warning.
  std::string retake(const std::string& directory);

  enum class Claim { held, taken, lost };
  /// Claims a run's directory unless it is held already, and returns whether it was taken or retaken. Call it before
  /// anything is written, so that a trainer that fails before its first epoch moves nothing.
  /// @param is_shared  many runs use it, so no run claims it
  Claim claim(std::string& directory, bool is_shared);
  bool is_claimed() const { return claimed_.has_value(); }

  /// Moves files of an earlier run at these paths, relative to the folder, into a folder "older-1", "older-2", … beside
  /// each, with a message; returns whether there were any. Checks each path once, and moves only folders within the
  /// run's. Incidents, and notes.json beside a record, are moved too.
  bool keep_older(const std::vector<std::string>& named);

 private:
  std::string take_free(const std::string& directory);
  bool lock(const std::filesystem::path& folder);
  bool has_lost_lock() const;
  void release();
  bool is_within(const std::filesystem::path& path) const;
  bool is_older(const std::filesystem::path& path) const;
  std::vector<std::string> take_unnamed();

  std::filesystem::path start_, folder_;
  std::optional<std::string> claimed_;
  bool made_ = false;  // the folder did not exist before
  bool looked_for_unnamed_ = false;
  std::optional<Descriptor> lock_;
  std::string holder_;                // the process that holds the requested folder
  std::optional<Descriptor> opened_;  // the folder itself, wherever it is moved
  std::set<std::filesystem::path> seen_;
};

}  // namespace loupe
