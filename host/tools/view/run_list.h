#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "view/followed_record.h"
#include "view/run_notes.h"
#include "view/run_state.h"
#include "view/runs_folder.h"

namespace loupe::view {

/// The list at one moment; immutable.
struct RunsSnapshot {
  struct Run {
    FoundRun place;
    bool goes_on = false;                     ///< its record may still grow
    std::uint64_t version = 0;                ///< the version of the list when this run last changed
    std::shared_ptr<const std::string> json;  ///< the run as JSON for the page
    RunNotes notes;
  };

  std::uint64_t version = 0;     ///< 0: the list was not read yet
  std::map<unsigned, Run> runs;  ///< by the number that the list gave each run
  std::string about;             ///< the members of the JSON that concern all runs
  std::string left_out;          ///< a sentence about limits that the search has reached; otherwise empty

  /// Returns JSON in one line: the members that concern all runs, the numbers of all runs, and the runs that have
  /// changed since the version `seen`.
  std::string news_since(std::uint64_t seen) const;
};

/// The runs under some folders, read repeatedly by one thread. Any thread may take a snapshot.
class RunList {
 public:
  explicit RunList(std::vector<std::string> folders, const SearchLimits& limits = {});

  /// Searches for new runs if the last search is not too recent, and reads up to some megabytes of new text of each
  /// record. Returns whether there is more to read. The first call publishes the runs before it reads any record.
  bool look();

  /// Requests a look() at once. Any thread.
  void ask() { is_asked_ = true; }
  /// Whether ask() was called since the last call of this.
  bool was_asked() { return is_asked_.exchange(false); }

  std::shared_ptr<const RunsSnapshot> told() const;
  /// Waits for a version other than `seen`, for close() or for the timeout.
  std::shared_ptr<const RunsSnapshot> wait(std::uint64_t seen, std::chrono::milliseconds longest) const;
  /// Ends all waiting, now and in future.
  void close();

 private:
  struct Run {
    unsigned number;
    FoundRun place;
    FollowedRecord record;
    FileStamp report = {}, noted = {};
    RunNotes notes = {};
    RunStanding standing = {};
    bool is_new = true;  // its last snapshot, if any, is out of date
    std::uint64_t version = 0;
    std::shared_ptr<const std::string> json = {};
  };

  bool find();
  bool read(Run& run);
  void tell();

  const std::vector<std::string> folders_;
  const SearchLimits limits_;
  std::string left_out_;
  std::map<std::string, Run> runs_;  // by folder
  unsigned last_number_ = 0;
  std::uint64_t versions_ = 0;  // the number of published versions
  std::chrono::steady_clock::time_point next_find_;

  std::atomic<bool> is_asked_{false};
  mutable std::mutex mutex_;  // guards the members below
  mutable std::condition_variable news_;
  std::shared_ptr<const RunsSnapshot> told_;
  bool closed_ = false;
};

}  // namespace loupe::view
