#include "view/run_list.h"

#include <loupe/error.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "view/api.h"
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

/// Names may hold any bytes.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Of a file that says nothing of the kind, whoever changes it is told.
RunNotes readable_notes(const FoundRun& place) try { return notes_in(place.notes()); } catch (const Error&) {
  return {};
}

}  // namespace

std::string RunsTold::news_since(std::uint64_t seen) const {
  std::string ids, news;
  for (const auto& [id, run] : runs) {
    ids += (ids.empty() ? "" : ",") + std::to_string(id);
    if (run.version > seen) news += (news.empty() ? "" : ",") + *run.json;
  }
  return '{' + about + ",\"ids\":[" + ids + "],\"runs\":[" + news + "]}";
}

RunList::RunList(std::vector<std::string> folders, const SearchLimits& limits)
    : folders_(std::move(folders)), limits_(limits), told_(std::make_shared<RunsTold>()) {
  tell();
}

bool RunList::look() {
  bool changed = find(), more = false;
  if (versions_ == 1) tell();
  for (auto& [folder, run] : runs_) {
    more = read(run) || more;
    changed = changed || run.is_new;
  }
  if (changed) tell();
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
    runs_.emplace(folder, Run{++last_number_, std::move(place), std::move(summary)});
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

bool RunList::read(Run& run) {
  const FileStamp report = FileStamp::of(run.place.report());
  const bool rewritten = std::exchange(run.report, report) != report;
  const FileStamp noted = FileStamp::of(run.place.notes());
  const bool said_anew = std::exchange(run.noted, noted) != noted;
  if (said_anew) run.notes = readable_notes(run.place);
  const bool grew = run.summary.read_on(read_in_turn);
  RunStanding standing = standing_of(run.summary, run.place.folder);
  const bool turned = standing != run.standing;
  run.standing = std::move(standing);
  run.is_new = run.is_new || rewritten || said_anew || grew || turned;
  return run.summary.is_behind();
}

void RunList::tell() {
  auto told = std::make_shared<RunsTold>();
  told->version = versions_++;
  for (auto& [folder, run] : runs_) {
    if (std::exchange(run.is_new, false)) {
      run.version = told->version;
      Json row = row_of(run.summary, run.standing);
      row["id"] = run.number;
      row["version"] = run.version;
      row["name"] = name_of(run.summary, run.place.folder);
      row["folder"] = run.place.shown;
      row["address"] = api_address(run.place);
      row["report"] = report_address(run.place);
      put_notes(row, run.notes);
      run.json = std::make_shared<const std::string>(text_of(row));
    }
    told->runs[run.number] = {run.place, goes_on(run.standing.state), run.version, run.json, run.notes};
  }
  const Json about{{"version", told->version},
                   {"now", static_cast<double>(std::time(nullptr))},
                   {"folders", folders_},
                   {"left_out", left_out_}};
  told->about = text_of(about);
  told->about = told->about.substr(1, told->about.size() - 2);
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
