#ifndef LOUPE_VIEW_RUN_LIST_H
#define LOUPE_VIEW_RUN_LIST_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "view/run_state.h"
#include "view/run_summary.h"
#include "view/runs_folder.h"

namespace loupe::view {

/// What the list told at one moment; never changes.
struct RunsTold {
  struct Run {
    std::string name;
    FoundRun place;
    std::uint64_t version = 0;  ///< changes with the run's files
  };

  std::uint64_t version = 0;     ///< 0: nobody has looked yet
  std::map<unsigned, Run> runs;  ///< by the number that the list gave each
  std::string json;              ///< for the page: all of it, the newest run first
};

/// The runs under some folders, looked at again and again. One thread looks; any may read what was told.
class RunList {
 public:
  explicit RunList(std::vector<std::string> folders, const SearchLimits& limits = {});

  /// Looks for new runs where that was not done just before, and reads what came to the records since, some megabytes
  /// of each. Returns whether there is more to read. The first call tells what runs there are before it reads any.
  bool look();

  std::shared_ptr<const RunsTold> told() const;
  /// Waits until another version than `seen` is told, close() or the time is over.
  std::shared_ptr<const RunsTold> wait(std::uint64_t seen, std::chrono::milliseconds longest) const;
  /// Nobody waits from now on.
  void close();

 private:
  struct Run {
    unsigned number;
    FoundRun place;
    RunSummary summary;
    FileStamp report;
    RunState state;
    std::uint64_t version;
    nlohmann::ordered_json row;  // as it was told last; made anew when the version changes
  };

  bool find();
  bool read(Run& run, double now, bool& changed);
  void tell(double now);

  const std::vector<std::string> folders_;
  const SearchLimits limits_;
  std::string left_out_;
  std::map<std::string, Run> runs_;  // by folder
  unsigned last_number_ = 0;
  std::uint64_t versions_ = 0;  // that were told
  std::chrono::steady_clock::time_point next_find_;

  mutable std::mutex mutex_;  // of what follows
  mutable std::condition_variable news_;
  std::shared_ptr<const RunsTold> told_;
  bool closed_ = false;
};

}  // namespace loupe::view

#endif
