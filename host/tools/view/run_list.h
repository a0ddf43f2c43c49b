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

/// The list at one moment; never changes.
struct RunsSnapshot {
  struct Run {
    FoundRun place;
    bool goes_on = false;                     ///< its record may still grow
    std::uint64_t version = 0;                ///< of the list when this run last changed
    std::shared_ptr<const std::string> json;  ///< for the page
    RunNotes notes;
  };

  std::uint64_t version = 0;     ///< 0: nobody has looked yet
  std::map<unsigned, Run> runs;  ///< by the number that the list gave each
  std::string about;             ///< the members of the JSON that concern all
  std::string left_out;          ///< a sentence on what was not looked for; empty where nothing was left out

  /// Returns JSON in one line: the members that concern all runs, which runs there are, and the runs that have changed
  /// since the version `seen`.
  std::string news_since(std::uint64_t seen) const;
};

/// The runs under some folders, read repeatedly. One thread reads them; any may take a snapshot.
class RunList {
 public:
  explicit RunList(std::vector<std::string> folders, const SearchLimits& limits = {});

  /// Looks for new runs where that was not done just before, and reads what came to the records since, some megabytes
  /// of each. Returns whether there is more to read. The first call tells what runs there are before it reads any.
  bool look();

  /// Asks for a look() before its time. Any thread.
  void ask() { is_asked_ = true; }
  /// Whether somebody asked since the last call.
  bool was_asked() { return is_asked_.exchange(false); }

  std::shared_ptr<const RunsSnapshot> told() const;
  /// Waits for a version other than `seen`, for close() or for the end of the time.
  std::shared_ptr<const RunsSnapshot> wait(std::uint64_t seen, std::chrono::milliseconds longest) const;
  /// Nobody waits from now on.
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
  std::uint64_t versions_ = 0;  // that were published
  std::chrono::steady_clock::time_point next_find_;

  std::atomic<bool> is_asked_{false};
  mutable std::mutex mutex_;  // of what follows
  mutable std::condition_variable news_;
  std::shared_ptr<const RunsSnapshot> told_;
  bool closed_ = false;
};

}  // namespace loupe::view
