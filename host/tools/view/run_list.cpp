#include "view/run_list.h"

#include <loupe/abi.h>
#include <loupe/error.h>
#include <loupe/text/number_text.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "view/api.h"

namespace loupe::view {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;
using replay::FindingHistory;
using replay::RunSummary;

// Shows no more losses and settings than this: people read no more in a row, and compare runs by fewer.
constexpr std::size_t most_losses = 6, most_settings = 100;
constexpr const char* of_optimizer = " optimizer";
// If there are more models of a kind than this, their settings are shown as one.
constexpr std::size_t most_apart = 3;

// The number of bytes read of one run before the next: takes some tenths of a second.
constexpr std::size_t read_in_turn = std::size_t{8} << 20;
// The pause after a search is this many times its duration, so that searching a large tree takes little time.
constexpr int pause_for_each_search = 20;
constexpr auto least_pause = std::chrono::milliseconds(900);

/// Names may hold any bytes, so invalid UTF-8 is replaced.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Empty for a file of another kind; changing the notes then fails with the reason.
RunNotes readable_notes(const FoundRun& place) try { return notes_in(place.notes()); } catch (const Error&) {
  return {};
}

Json number(double value) {
  if (const char* name = non_finite_name(value)) return name;
  return value;
}

Json findings_of(const FindingHistory& history) {
  Json counts{{"error", 0}, {"warning", 0}, {"info", 0}, {"gone", 0}};
  Json rule_counts = counts;
  std::set<std::string> rules;
  std::set<std::pair<std::string, std::string>> counted;
  for (const FindingHistory::Entry* each : history.worst_first()) {
    const std::string word = each->gone ? "gone" : word_of(severity_words, each->last.severity);
    rules.insert(each->last.rule);
    if (!counts.contains(word)) continue;
    counts[word] = counts[word].get<int>() + 1;
    if (counted.emplace(word, each->last.rule).second) rule_counts[word] = rule_counts[word].get<int>() + 1;
  }
  Json told{
      {"counts", std::move(counts)}, {"rule_counts", std::move(rule_counts)}, {"worst", nullptr}, {"rules", rules}};
  if (const FindingHistory::Entry* worst = history.worst()) {
    const std::string place = worst->place();
    told["worst"] = {{"rule", worst->last.rule},
                     {"severity", word_of(severity_words, worst->last.severity)},
                     {"gone", worst->gone},
                     {"text", (place.empty() ? "" : place + ": ") + worst->last.message}};
  }
  return told;
}

/// The loss that runs are compared by: the validation loss if there is one.
const RunSummary::Loss* main_loss(const std::vector<RunSummary::Loss>& losses) {
  const RunSummary::Loss* main = nullptr;
  for (const RunSummary::Loss& each : losses) {
    if (each.is_metric) continue;
    if (each.name.rfind("val", 0) == 0) return &each;
    if (main == nullptr) main = &each;
  }
  return main;
}

Json losses_of(const std::vector<RunSummary::Loss>& losses) {
  Json told = Json::array();
  for (const RunSummary::Loss& each : losses) {
    if (told.size() == most_losses) break;
    Json loss{{"name", each.name}, {"metric", each.is_metric}, {"last", number(each.last)}, {"best", nullptr}};
    if (!each.is_metric && each.lowest) {
      loss["best"] = each.lowest->first;
      loss["best_epoch"] = each.lowest->second;
    }
    told.push_back(std::move(loss));
  }
  return told;
}

/// Rounds to the digits that are visible in a curve the size of a word.
double rounded(double value) {
  const std::string text = rounded_text(value, 6);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Json curve_of(const RunSummary::Loss* loss) {
  if (loss == nullptr) return nullptr;
  Json values = Json::array();
  for (const double each : loss->curve.values()) values.push_back(number(rounded(each)));
  return {{"name", loss->name}, {"values", std::move(values)}};
}

Json value_of(const replay::RecordedSetting& setting) {
  if (setting.type == LOUPE_TYPE_BOOLEAN) return setting.integer != 0;
  if (setting.type == LOUPE_TYPE_INTEGER) return setting.integer;
  if (setting.type == LOUPE_TYPE_NUMBER) return number(setting.number);
  return replay::text_of(setting);
}

/// "Net optimizer rate" for "Net#17 optimizer rate", a setting of one of several models; otherwise "".
std::string kind_of(const std::string& name) {
  const std::size_t word = name.find(of_optimizer);
  if (word == std::string::npos) return "";
  const std::size_t end = name.find_last_not_of("0123456789", word - 1);
  const bool is_numbered = end != std::string::npos && end > 0 && end + 1 < word && name[end] == '#';
  return name.substr(0, is_numbered ? end : word) + name.substr(word);
}

/// The values of one setting in many models: the least and the largest number, or the first few texts.
Json values_of(const std::vector<const replay::RecordedSetting*>& settings) {
  constexpr std::size_t most_texts = 3;
  const auto is_number = [](const auto* each) {
    return each->type == LOUPE_TYPE_NUMBER && std::isfinite(each->number);
  };
  if (std::all_of(settings.begin(), settings.end(), is_number)) {
    const auto [least, largest] = std::minmax_element(
        settings.begin(), settings.end(), [](const auto* a, const auto* b) { return a->number < b->number; });
    if ((*least)->number == (*largest)->number) return (*least)->number;
    return rounded_text((*least)->number) + " … " + rounded_text((*largest)->number);
  }
  std::vector<std::string> texts;
  for (const auto* each : settings) {
    const std::string text = replay::text_of(*each);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  std::string all;
  for (std::size_t i = 0; i < std::min(texts.size(), most_texts); ++i) all += (i > 0 ? ", " : "") + texts[i];
  return texts.size() > most_texts ? all + ", " + std::to_string(texts.size() - most_texts) + " more" : all;
}

/// Pairs of name and value. If a program makes many models of a kind one after another, their settings become one.
Json settings_of(const std::vector<replay::RecordedSetting>& settings) {
  std::map<std::string, std::vector<const replay::RecordedSetting*>> kinds;
  for (const auto& each : settings) kinds[kind_of(each.name)].push_back(&each);
  std::erase_if(kinds, [](const auto& kind) { return kind.first.empty() || kind.second.size() <= most_apart; });
  // The first model's optimizer was the only one at its time, and so its settings name no model: "optimizer rate".
  const auto kind_in_turn = [&](const std::string& name) {
    const auto is_kind = [&](const auto& kind) {
      return kind.first == kind_of(name) || (name.starts_with(of_optimizer + 1) && kind.first.ends_with(' ' + name));
    };
    return std::count_if(kinds.begin(), kinds.end(), is_kind) == 1 ? std::find_if(kinds.begin(), kinds.end(), is_kind)
                                                                   : kinds.end();
  };
  for (const auto& each : settings) {
    const auto kind = kind_in_turn(each.name);
    if (kind != kinds.end() && kind_of(each.name).empty()) kind->second.push_back(&each);
  }
  std::set<std::string> told;
  Json pairs = Json::array();
  for (const auto& each : settings) {
    if (pairs.size() == most_settings) break;
    const auto kind = kind_in_turn(each.name);
    if (kind == kinds.end()) {
      pairs.push_back(Json::array({each.name, value_of(each)}));
    } else if (told.insert(kind->first).second) {
      pairs.push_back(Json::array({kind->first + " (each model)", values_of(kind->second)}));
    }
  }
  return pairs;
}

/// The settings in the run's configuration, by dotted names.
Json configured_of(const RunSummary& run) {
  Json pairs = Json::array();
  for (const auto& [name, text] : run.configured()) {
    if (pairs.size() < most_settings) pairs.push_back(Json::array({name, text}));
  }
  return pairs;
}

/// Whether the run has lenses that search for findings.
bool is_judged(const RunSummary& run) {
  const std::vector<std::string>& lenses = run.run().lenses;
  return run.findings().worst() != nullptr || std::any_of(lenses.begin(), lenses.end(), [](const std::string& lens) {
           return lens == "health" || lens == "findings";
         });
}

/// A run as a row of the page's list. Numbers that JSON lacks become strings, for example "NaN".
Json row_of(const FollowedRecord& record, const RunStanding& standing) {
  const RunSummary& run = record.summary();
  const double written = static_cast<double>(record.stamp().changed_ns) * 1e-9, started = run.run().start_time;
  Json row{{"state", word_of(standing.state)},
           {"why", standing.why},
           {"resumed", run.run().resumed},
           // The start is unknown if the record cannot be read; the time of its file is close enough.
           {"started", started > 0 ? started : written},
           {"written", written},
           {"epoch", nullptr},
           {"step", nullptr},
           {"seconds", nullptr},
           {"losses", losses_of(run.losses())},
           {"curve", curve_of(main_loss(run.losses()))},
           {"settings", settings_of(run.hyperparameters())},
           {"configured", configured_of(run)},
           {"judged", is_judged(run)},
           {"findings", findings_of(run.findings())}};
  if (run.tick()) {
    row["epoch"] = run.tick()->epoch;
    row["step"] = run.tick()->step;
    row["seconds"] = run.tick()->elapsed;
  }
  return row;
}

}  // namespace

std::string RunsSnapshot::news_since(std::uint64_t seen) const {
  std::string ids, news;
  for (const auto& [id, run] : runs) {
    ids += (ids.empty() ? "" : ",") + std::to_string(id);
    if (run.version > seen) news += (news.empty() ? "" : ",") + *run.json;
  }
  return '{' + about + ",\"ids\":[" + ids + "],\"runs\":[" + news + "]}";
}

RunList::RunList(std::vector<std::string> folders, const SearchLimits& limits)
    : folders_(std::move(folders)), limits_(limits), told_(std::make_shared<RunsSnapshot>()) {
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

/// Returns whether runs appeared or disappeared.
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
    FollowedRecord record(place.record());
    runs_.emplace(folder, Run{++last_number_, std::move(place), std::move(record)});
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
  const bool grew = run.record.read_on(read_in_turn);
  RunStanding standing = standing_of(run.record, run.place.folder);
  const bool turned = standing != run.standing;
  run.standing = std::move(standing);
  run.is_new = run.is_new || rewritten || said_anew || grew || turned;
  return run.record.is_behind();
}

void RunList::tell() {
  auto told = std::make_shared<RunsSnapshot>();
  told->version = versions_++;
  for (auto& [folder, run] : runs_) {
    if (std::exchange(run.is_new, false)) {
      run.version = told->version;
      Json row = row_of(run.record, run.standing);
      row["id"] = run.number;
      row["version"] = run.version;
      const std::string& name = run.record.summary().run().name;
      row["name"] = name.empty() ? run.place.folder.filename().string() : name;
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
  told->left_out = left_out_;
  told->about = text_of(about);
  told->about = told->about.substr(1, told->about.size() - 2);
  const std::lock_guard lock(mutex_);
  told_ = std::move(told);
  news_.notify_all();
}

std::shared_ptr<const RunsSnapshot> RunList::told() const {
  const std::lock_guard lock(mutex_);
  return told_;
}

std::shared_ptr<const RunsSnapshot> RunList::wait(std::uint64_t seen, std::chrono::milliseconds longest) const {
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
