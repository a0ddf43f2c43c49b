#include "view/run_summary.h"

#include <loupe/error.h>
#include <loupe/files/readable.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace loupe::view {
namespace {

using replay::RecordLine;

}  // namespace

bool RunSummary::read_on(std::size_t most) {
  if (!behind_ && !is_outdated()) return false;
  // What is wrong with a line may be mended by now.
  const bool begins_anew = !damage_.empty();
  damage_.clear();
  behind_ = false;
  try {
    TextPieces pieces(record_, O_NOFOLLOW);
    const FileStamp now = FileStamp::of(pieces.status());
    const bool same_file = now.inode == stamp_.inode && now.device == stamp_.device;
    if (begins_anew || !same_file || !pieces.go_on(place_)) begin_anew();
    stamp_ = now;
    read(pieces, most);
  } catch (const std::system_error& e) {
    stamp_ = FileStamp::of(text_file_at(record_));
    damage_ = "the record cannot be read: " + e.code().message();
  } catch (const std::exception& e) {
    damage_ = e.what();
  }
  return true;
}

void RunSummary::begin_anew() {
  *this = RunSummary(std::move(record_));
}

void RunSummary::read(TextPieces& pieces, std::size_t most) {
  for (std::size_t taken = 0; taken < most;) {
    const std::string_view piece = pieces.next();
    place_ = pieces.place();
    if (piece.empty()) {
      // What has no line end yet is still being written.
      if (lines_ == 0)
        throw Error(unfinished_.empty() ? "the record is empty" : "the record's first line is not whole yet");
      return;
    }
    taken += piece.size();
    std::size_t begin = 0;
    for (std::size_t end; (end = piece.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
      const std::string_view line = piece.substr(begin, end - begin);
      take(unfinished_.empty() ? line : unfinished_.append(line));
      unfinished_.clear();
    }
    unfinished_.append(piece.substr(begin));
    if (is_too_long(unfinished_)) throw Error("line " + std::to_string(lines_ + 1) + ": " + too_long);
  }
  behind_ = true;
}

void RunSummary::take(std::string_view text) try {
  using Kind = RecordLine::Kind;
  replay::parse_record_line(text, line_);
  if (lines_ == 0 && line_.kind != Kind::run) throw Error("a record begins with a line of the kind 'run'");
  if (line_.kind == Kind::run) {
    replay::RecordedRun run = replay::parse_run_line(text);
    if (lines_ > 0 && !run.resumed) throw Error("another run begins here; give each run's record a file of its own");
    if (lines_ > 0) findings_.go_on();
    run_ = std::move(run);
  }
  ++lines_;
  ending_.reset();
  if (line_.kind == Kind::value) take_loss();
  if (line_.kind == Kind::hyperparameter) take_setting(replay::parse_hyperparameter_line(text));
  if (line_.kind == Kind::finding) findings_.take(line_);
  if (line_.kind == Kind::end) ending_ = line_;
  if (line_.kind == Kind::tick) {
    tick_ = line_;
    if (!line_.incomplete) note_lowest();
    findings_.end_tick(line_);
  }
} catch (const Error& e) {
  throw Error("line " + std::to_string(lines_ + 1) + ": " + e.what());
}

/// What the lens loss_metrics tells of an epoch's losses and metrics as one number each.
void RunSummary::take_loss() {
  const bool is_shared = line_.tag == "Loss & Metrics";
  if (!is_shared && line_.tag != "Loss" && line_.tag != "Metrics") return;
  constexpr std::string_view mean = " mean";
  const std::string& told = line_.line;
  if (told.size() <= mean.size() || told.compare(told.size() - mean.size(), mean.size(), mean) != 0) return;
  const std::string name = told.substr(0, told.size() - mean.size());
  auto known = std::find_if(losses_.begin(), losses_.end(), [&](const Loss& each) { return each.name == name; });
  if (known == losses_.end()) {
    if (losses_.size() == most_losses) return;
    const bool is_metric = is_shared ? name.find("loss") == std::string::npos : line_.tag == "Metrics";
    known = losses_.insert(losses_.end(), {name, is_metric, 0});
  }
  known->last = line_.value;
  ++known->count;
  known->nan_streak = std::isnan(line_.value) ? known->nan_streak + 1 : 0;
  known->last_epoch = line_.epoch;
  known->curve.take(line_.epoch, line_.value);
}

/// At a whole epoch's end: one that was cut short is never the best.
void RunSummary::note_lowest() {
  for (Loss& each : losses_) {
    if (each.last_epoch != tick_->epoch || !std::isfinite(each.last)) continue;
    if (!each.lowest || each.last < each.lowest->first) each.lowest = {each.last, each.last_epoch};
  }
}

std::optional<std::string> RunSummary::broken_loss() const {
  constexpr std::size_t enough = 2;
  const auto entries = findings_.worst_first();
  const bool is_told = std::any_of(entries.begin(), entries.end(), [](const auto* each) {
    return !each->gone && each->last.rule == "non_finite" && each->last.severity >= LOUPE_SEVERITY_ERROR;
  });
  for (const Loss& each : losses_) {
    const bool to_the_end = each.nan_streak >= enough || (each.nan_streak > 0 && (is_told || each.count == 1));
    if (to_the_end && !each.is_metric) return each.name;
  }
  return std::nullopt;
}

void RunSummary::take_setting(replay::RecordedSetting setting) {
  const auto known =
      std::find_if(settings_.begin(), settings_.end(), [&](const auto& each) { return each.name == setting.name; });
  if (known != settings_.end()) {
    *known = std::move(setting);
  } else if (settings_.size() < most_settings) {
    settings_.push_back(std::move(setting));
  }
}

}  // namespace loupe::view
