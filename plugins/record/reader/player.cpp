#include "record/reader/player.h"

#include <charconv>
#include <cstring>
#include <utility>

namespace loupe::replay {

std::string epoch_text(double epoch) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, epoch).ptr};
}

void Player::play_history(double before, bool with_events) {
  with_events_ = with_events;
  before_ = before;
  RecordLine line;
  while (record_.next(line)) take(line);
  // End findings that are still open: the new process reports again what is still wrong.
  for (const FindingHistory::Entry* entry : findings_.worst_first()) {
    if (entry->gone || entry->last.last_epoch >= before) continue;
    RecordLine over = entry->last;
    over.state = LOUPE_FINDING_GONE;
    tell_event(over);
  }
}

void Player::tell_event(const RecordLine& line) {
  if (line.kind == RecordLine::Kind::note) return to_.note(message_of<loupe_note>(line));
  to_.finding(message_of<loupe_finding>(line));
}

void Player::take(const RecordLine& line) {
  using Kind = RecordLine::Kind;
  ending_.reset();
  if (line.kind == Kind::run) return take_run();
  if (line.kind == Kind::model) return take_model();
  if (line.kind == Kind::tag) return take_tag(line);
  if (line.kind == Kind::hyperparameter) return take_hyperparameter();
  const bool is_event = line.kind == Kind::finding || line.kind == Kind::note;
  if (is_event && !keeps(line)) return;
  if (line.kind == Kind::finding) findings_.take(line);
  if (is_event) {
    Told told{};
    told.kind = line.kind;
    told.event = std::make_shared<RecordLine>(line);
    told_.push_back(std::move(told));
    return;
  }
  if (line.kind == Kind::end) {
    ending_ = line;
    return;
  }
  join_epoch(line.epoch);
  if (line.kind == Kind::tick) return end_epoch(line);
  if (tags_.count(line.tag) == 0) record_.fail("the tag '" + line.tag + "' is used before its tag line");

  Told told{line.kind, kept(line.tag), kept(line.layer), "", "", line.value, 0, line.events, line.step, 0, 0, nullptr};
  if (line.kind == Kind::range) {
    told.line = kept(line.low_name);
    told.high_name = kept(line.high_name);
    told.low = line.low;
    told.high = line.high;
  } else {
    told.line = kept(line.line);
  }
  if (line.kind == Kind::histogram) {
    told.first_number = numbers_.size();
    told.bin_count = line.counts.size();
    numbers_.insert(numbers_.end(), line.edges.begin(), line.edges.end());
    numbers_.insert(numbers_.end(), line.counts.begin(), line.counts.end());
  }
  told_.push_back(std::move(told));
}

void Player::take_tag(const RecordLine& line) {
  show_events();
  tags_.insert(line.tag);
  to_.tag(message_of<loupe_tag>(line));
}

void Player::join_epoch(double epoch) {
  if (in_epoch_ && epoch != epoch_) {
    record_.fail("epoch " + epoch_text(epoch) + " begins here, before the end of epoch " + epoch_text(epoch_));
  }
  in_epoch_ = true;
  epoch_ = epoch;
}

void Player::show_events() {
  if (in_epoch_) return;
  for (const Told& told : told_) show(told);
  told_.clear();
}

void Player::show_last_events() {
  for (const Told& told : told_) {
    if (told.event) show(told);
  }
}

void Player::forget_epoch() {
  told_.clear();
  numbers_.clear();
  in_epoch_ = false;
}

void Player::end_epoch(const RecordLine& line) {
  if (epoch_ >= before_) return forget_epoch();
  // Events of another epoch came before this one, so show them first.
  std::size_t first = 0;
  while (first < told_.size() && told_[first].event && told_[first].event->epoch != line.epoch) show(told_[first++]);
  auto tick = message_of<loupe_tick>(line);
  tick.number = ticks_++;
  to_.begin_tick(tick);
  for (; first < told_.size(); ++first) show(told_[first]);
  to_.end_tick();
  forget_epoch();
}

void Player::show(const Told& told) {
  if (told.event) return tell_event(*told.event);
  const char* layer = std::strcmp(told.layer, told.tag) == 0 ? nullptr : told.layer;
  if (told.kind == RecordLine::Kind::histogram) {
    const double* edges = numbers_.data() + told.first_number;
    return to_.histogram({.struct_size = sizeof(loupe_histogram),
                          .tag = told.tag,
                          .layer = layer,
                          .line = told.line,
                          .edges = edges,
                          .counts = edges + told.bin_count + 1,
                          .bin_count = told.bin_count,
                          .events = told.events});
  }
  const char* const names[] = {told.line, told.high_name};
  const double numbers[] = {told.low, told.high};
  const std::size_t bands = told.kind == RecordLine::Kind::range ? 1 : 0;
  to_.row({.struct_size = sizeof(loupe_row),
           .tag = told.tag,
           .layer = layer,
           .events = told.events,
           .value_count = 1 - bands,
           .value_names = names,
           .values = numbers,
           .band_count = bands,
           .band_names = names,
           .bands = numbers,
           .step = told.step});
}

std::string Player::left_out() const {
  const std::string ends = "'" + record_.file() + "' ends ";
  const std::string epoch = "epoch " + epoch_text(epoch_);
  if (in_epoch_ && record_.cut_off() != nullptr) {
    return ends + "with " + record_.cut_off() + " that was cut off; it and the rest of the unfinished " + epoch +
           " are left out";
  }
  if (in_epoch_) return ends + "before " + epoch + " was finished; that epoch is left out";
  if (record_.cut_off() != nullptr) return ends + "with " + record_.cut_off() + " that was cut off, which is left out";
  return "";
}

}  // namespace loupe::replay
