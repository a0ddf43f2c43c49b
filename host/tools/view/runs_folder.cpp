#include "view/runs_folder.h"

#include <loupe/files/compression.h>

#include <deque>
#include <set>
#include <system_error>

#include "config/launch.h"
#include "core/run_folder.h"

namespace loupe::view {
namespace {

namespace fs = std::filesystem;

struct Pending {
  FoundRun place;
  int depth = 0;
};

/// Searches folders level by level, so that a limit cuts off the deepest ones.
class Search {
 public:
  explicit Search(const SearchLimits& limits) : limits_(limits) {}

  void add(const std::string& folder) {
    std::error_code error;
    const fs::path whole = fs::canonical(folder, error);
    if (error) return;
    const FoundRun around{whole.parent_path(), ""};
    const bool is_merged = whole.filename() == merged_folder_name && is_own_file(text_file_at(around.record()));
    waiting_.push_back({{whole, fs::path(folder).lexically_normal().string(), is_merged}, 0});
  }

  FoundRuns run() {
    while (!waiting_.empty()) {
      if (seen_.size() >= limits_.folders) {
        cut("only the first " + std::to_string(limits_.folders) + " folders were looked into");
        break;
      }
      const Pending next = waiting_.front();
      waiting_.pop_front();
      if (!seen_.insert(next.place.folder).second) continue;
      const bool is_run = is_own_file(text_file_at(next.place.record()));
      if (is_run) {
        if (found_.runs.size() >= limits_.runs) {
          cut("only the first " + std::to_string(limits_.runs) + " runs are listed");
          break;
        }
        found_.runs.push_back(place_of(next.place));
      }
      look_into(next, is_run);
    }
    return std::move(found_);
  }

 private:
  /// The merged run if the run's processes were merged, else the run.
  static FoundRun place_of(const FoundRun& run) {
    const FoundRun merged{run.folder / merged_folder_name, run.shown, true};
    return is_own_file(text_file_at(merged.record())) ? merged : run;
  }

  void look_into(const Pending& parent, bool is_run) {
    std::error_code error;
    fs::directory_iterator each(parent.place.folder, error);
    std::set<std::string> names;  // sorted, so that the order is the same in each search
    for (; !error && each != fs::directory_iterator(); each.increment(error)) {
      std::error_code unknown;
      const std::string name = each->path().filename().string();
      // The records of a run's other processes are not separate runs.
      if (is_run && (name.rfind("rank-", 0) == 0 || name == merged_folder_name)) continue;
      if (each->symlink_status(unknown).type() == fs::file_type::directory) names.insert(name);
    }
    if (!names.empty() && parent.depth >= limits_.depth) {
      return cut("folders more than " + std::to_string(limits_.depth) + " deep were not looked into");
    }
    for (const std::string& name : names) {
      waiting_.push_back(
          {{parent.place.folder / name, (fs::path(parent.place.shown) / name).string()}, parent.depth + 1});
    }
  }

  void cut(const std::string& what) { found_.left_out = what + "; name folders nearer to the runs to see the others"; }

  SearchLimits limits_;
  std::deque<Pending> waiting_;
  std::set<fs::path> seen_;
  FoundRuns found_;
};

}  // namespace

fs::path FoundRun::notes() const {
  return (is_merged ? folder.parent_path() : folder) / run_notes_name;
}

bool is_own_file(const fs::path& file) {
  std::error_code error;
  return fs::symlink_status(file, error).type() == fs::file_type::regular;
}

FoundRuns find_runs(const std::vector<std::string>& folders, const SearchLimits& limits) {
  Search search(limits);
  for (const std::string& folder : folders) search.add(folder);
  return search.run();
}

}  // namespace loupe::view
