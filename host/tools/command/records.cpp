#include "command/records.h"

#include <loupe/abi.h>
#include <loupe/files/compression.h>
#include <loupe/internal/finding_number.h>
#include <loupe/text/number_text.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "command/usage_error.h"
#include "command/wrapped_output.h"
#include "config/launch.h"
#include "core/clock.h"
#include "core/text.h"

namespace loupe {
namespace {

namespace fs = std::filesystem;

/// The record of a folder; for a merged run of several processes, the merged one.
fs::path record_in(const fs::path& folder) {
  std::error_code none;
  const fs::path merged = folder / merged_folder_name / record_name;
  return fs::exists(text_file_at(merged), none) && fs::exists(text_file_at(folder / record_name), none)
             ? merged
             : folder / record_name;
}

std::vector<std::string> records_below(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    const fs::path file = record_in(entry.path());
    if (fs::exists(text_file_at(file), none)) found.push_back(file.string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<std::string> record_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code none;
    const fs::path own = record_in(path);
    if (!fs::is_directory(path, none)) {
      files.push_back(path);
    } else if (fs::exists(text_file_at(own), none)) {
      files.push_back(own.string());
    } else {
      const std::vector<std::string> below = records_below(path);
      if (below.empty())
        throw UsageError("the folder '" + path + "' has no " + record_name +
                         ", nor has a folder in it; name the record "
                         "itself, or have one written by the visualizer 'record'");
      files.insert(files.end(), below.begin(), below.end());
    }
  }
  return files;
}

std::string record_file(const std::string& path) {
  const std::vector<std::string> files = record_files({path});
  if (files.size() > 1)
    throw UsageError("the folder '" + path + "' has the records of " + std::to_string(files.size()) +
                     " runs, such as '" + files.front() + "'; name one");
  return files.front();
}

namespace {

constexpr double patience = 1, pause = 0.1;        // seconds
constexpr std::size_t lines_between_looks = 1024;  // how many lines pass between two looks at the clock

bool can_rewrite_a_line() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string(terminal) != "dumb";
}

}  // namespace

ReadingProgress::ReadingProgress(std::size_t records, bool shown)
    : records_(records), begun_(steady_time()), shown_(shown && can_rewrite_a_line()) {}

void ReadingProgress::begin(const std::string& record) {
  ++record_number_;
  record_ = record;
  epoch_ = 0;
}

void ReadingProgress::take(const replay::RecordLine& line) {
  if (!shown_) return;
  if (line.kind == replay::RecordLine::Kind::tick) epoch_ = line.epoch;
  if (++lines_ % lines_between_looks != 0) return;
  const double now = steady_time();
  if (now - begun_ >= patience && now - drawn_ >= pause) draw(now);
}

void ReadingProgress::draw(double now) {
  std::string text = "reading ";
  if (records_ > 1) text += "record " + std::to_string(record_number_) + " of " + std::to_string(records_) + ", ";
  text += "epoch " + number_text(epoch_) + " of '" + printable_line(record_) + "'";
  // A line that wraps could not be erased.
  constexpr std::size_t usual_columns = 80;
  text = shortened_end(text, terminal_columns(STDERR_FILENO).value_or(usual_columns) - 1);
  std::cerr << "\r" << text << "\x1b[K" << std::flush;
  drawn_ = now;
  stands_ = true;
}

void ReadingProgress::clear() {
  if (stands_) std::cerr << "\r\x1b[K" << std::flush;
  stands_ = false;
}

namespace {

using replay::RecordLine;

/// "'optimizer rate' is 0.1 in rank 0 and 0.01 in rank 1"; empty where it is the same in all.
std::string difference(const std::string& name, const std::vector<int>& ranks,
                       const std::vector<std::map<std::string, std::string>>& settings) {
  std::vector<std::pair<std::string, std::vector<int>>> values;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto own = settings[i].find(name);
    const std::string value = own != settings[i].end() ? own->second : "not set";
    auto known = std::find_if(values.begin(), values.end(), [&](const auto& other) { return other.first == value; });
    if (known == values.end()) known = values.insert(values.end(), {value, {}});
    known->second.push_back(ranks[i]);
  }
  if (values.size() < 2) return "";
  std::string text = "'" + name + "' is ";
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [value, having] = values[i];
    text += (i == 0 ? "" : i + 1 < values.size() ? ", " : " and ") + value + " in " + detail::list_of_ranks(having);
  }
  return text;
}

/// The ranks that have a folder there. They may be far fewer than the ranks of the run.
std::set<int> ranks_in(const std::string& folder, int world_size) {
  std::set<int> ranks;
  std::error_code none;
  for (const fs::directory_entry& each : fs::directory_iterator(folder.empty() ? "." : folder, none)) {
    const std::string name = each.path().filename().string(),
                      digits = name.substr(std::min<std::size_t>(name.size(), 5));
    int rank = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    const bool is_rank = read.ec == std::errc() && rank > 0 && rank < world_size;
    if (is_rank && name == fs::path(Launch{rank, world_size}.folder_in("")).string()) ranks.insert(rank);
  }
  return ranks;
}

}  // namespace

OtherRanks other_ranks(const std::string& record, const replay::RecordedRun& run) {
  OtherRanks found;
  if (run.rank != 0 || run.world_size < 2) return found;
  const fs::path own(record);
  const fs::path folder = own.parent_path();
  const std::string beside = (is_merged(record) ? folder.parent_path() : folder).string();
  std::vector<int> lacking;
  const std::set<int> there = ranks_in(beside, run.world_size);
  for (int rank = 1; rank < run.world_size; ++rank) {
    const auto record = [&] { return fs::path(Launch{rank, run.world_size}.folder_in(beside)) / own.filename(); };
    std::error_code none;
    if (there.count(rank) != 0 && fs::is_regular_file(text_file_at(record()), none)) {
      found.records.push_back(record().string());
    } else {
      lacking.push_back(rank);
    }
  }
  if (!lacking.empty())
    found.lacking = "'" + record + "' is the record of rank 0 of " + std::to_string(run.world_size) +
                    "; beside it there is no record of " + detail::list_of_ranks(lacking);
  return found;
}

bool is_merged(const std::string& record) {
  return fs::path(record).parent_path().filename() == merged_folder_name;
}

std::optional<RecordLine> ranks_differ(const std::vector<RankSettings>& ranks, double last_epoch) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  std::vector<int> numbers;
  std::vector<std::map<std::string, std::string>> settings;
  for (const RankSettings& each : ranks) {
    numbers.push_back(each.rank);
    settings.emplace_back(each.settings.begin(), each.settings.end());
    for (const auto& setting : each.settings) {
      if (seen.insert(setting.first).second) names.push_back(setting.first);
    }
  }
  std::string message;
  for (const std::string& name : names) {
    const std::string text = difference(name, numbers, settings);
    if (!text.empty()) message += (message.empty() ? "the ranks ran with different settings: " : "; ") + text;
  }
  if (message.empty()) return std::nullopt;
  RecordLine line;
  line.kind = RecordLine::Kind::finding;
  line.severity = LOUPE_SEVERITY_WARNING;
  line.state = LOUPE_FINDING_RAISED;
  line.rule = "ranks_differ";
  line.message = message;
  line.advice = "start all ranks with the same program, configuration and settings, or check why they differ";
  line.source = "loupe diagnose";
  line.id = finding_number(line.source, line.rule, "", "");
  line.value = line.threshold = NAN;
  line.first_epoch = line.last_epoch = last_epoch;
  line.count = 1;
  return line;
}

}  // namespace loupe
