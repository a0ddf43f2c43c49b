#include "view/run_list.h"

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

#include "view/run_json.h"

namespace loupe::view {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

// Some tenths of a second to read, after which others have their turn.
constexpr std::size_t read_in_turn = std::size_t{8} << 20;
// A search of a large tree must take but a small share of the time.
constexpr int pause_for_each_search = 20;
constexpr auto least_pause = std::chrono::milliseconds(900);

}  // namespace

RunList::RunList(std::vector<std::string> folders, const SearchLimits& limits)
    : folders_(std::move(folders)), limits_(limits), told_(std::make_shared<RunsTold>()) {
  tell(0);
}

bool RunList::look() {
  const double now = static_cast<double>(std::time(nullptr));
  bool changed = find(), more = false;
  if (versions_ == 1) tell(now);
  for (auto& [folder, run] : runs_) more = read(run, now, changed) || more;
  if (changed) tell(now);
  return more;
}

/// Returns whether runs came or went.
bool RunList::find() {
  const auto begin = Clock::now();
  if (begin < next_find_) return false;
  FoundRuns found = find_runs(folders_, limits_);
  bool changed = std::exchange(left_out_, found.left_out) != found.left_out;
  std::set<std::string> there;
  for (FoundRun& place : found.runs) {
    const std::string folder = place.folder.string();
    there.insert(folder);
    if (runs_.count(folder) > 0) continue;
    RunSummary summary(place.record());
    Json row = row_of(summary, RunState::reading);
    runs_.emplace(folder, Run{++last_number_, std::move(place), std::move(summary), {}, RunState::reading, 0, row});
    changed = true;
  }
  for (auto each = runs_.begin(); each != runs_.end();) {
    const bool gone = there.count(each->first) == 0;
    changed = changed || gone;
    each = gone ? runs_.erase(each) : std::next(each);
  }
  const auto end = Clock::now();
  next_find_ = end + std::max<Clock::duration>(least_pause, pause_for_each_search * (end - begin));
  return changed;
}

bool RunList::read(Run& run, double now, bool& changed) {
  const FileStamp report = FileStamp::of(run.place.report());
  const bool rewritten = std::exchange(run.report, report) != report;
  const bool grew = run.summary.read_on(read_in_turn);
  const RunState state = state_of(run.summary, run.place.folder, now);
  const bool turned = std::exchange(run.state, state) != state;
  if (rewritten || grew || turned) {
    ++run.version;
    run.row = row_of(run.summary, state);
    changed = true;
  }
  return run.summary.is_behind();
}

void RunList::tell(double now) {
  auto told = std::make_shared<RunsTold>();
  told->version = versions_++;
  std::vector<const Run*> order;
  for (const auto& [folder, run] : runs_) {
    order.push_back(&run);
    told->runs[run.number] = {name_of(run.summary, run.place.folder), run.place, run.version};
  }
  // A record that cannot be read says nothing of when its run started; its file's time is near enough.
  const auto time_of = [](const Run& run) {
    const double started = run.summary.run().start_time;
    return started > 0 ? started : static_cast<double>(run.summary.stamp().changed_ns) * 1e-9;
  };
  std::stable_sort(order.begin(), order.end(), [&](const Run* a, const Run* b) { return time_of(*a) > time_of(*b); });
  Json runs = Json::array();
  for (const Run* run : order) {
    Json row = run->row;
    row["id"] = run->number;
    row["version"] = run->version;
    row["name"] = name_of(run->summary, run->place.folder);
    row["folder"] = run->place.shown;
    runs.push_back(std::move(row));
  }
  const Json all{{"version", told->version},
                 {"now", now},
                 {"folders", folders_},
                 {"left_out", left_out_},
                 {"runs", std::move(runs)}};
  // Names may hold any bytes.
  told->json = all.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::lock_guard lock(mutex_);
  told_ = std::move(told);
  news_.notify_all();
}

std::shared_ptr<const RunsTold> RunList::told() const {
  const std::lock_guard lock(mutex_);
  return told_;
}

std::shared_ptr<const RunsTold> RunList::wait(std::uint64_t seen, std::chrono::milliseconds longest) const {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, longest, [&] { return closed_ || told_->version != seen; });
  return told_;
}

void RunList::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  news_.notify_all();
}

}  // namespace loupe::view
