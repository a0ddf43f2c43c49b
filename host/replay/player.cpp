#include "replay/player.h"

#include <charconv>

namespace loupe::replay {
namespace {

std::string epoch_text(double epoch) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, epoch).ptr};
}

}  // namespace

std::string Player::play(const std::string& name, const std::string& directory) {
  const RecordedRun& run = record_.run();
  const loupe_run told{sizeof(loupe_run),
                       0,
                       name.c_str(),
                       directory.c_str(),
                       run.config.c_str(),
                       run.loupe_version.c_str(),
                       run.libtorch_version.c_str(),
                       run.models.c_str(),
                       run.started.c_str()};
  audience_.begin(told);
  RecordLine line;
  while (record_.next(line)) take(line);
  audience_.end();
  return left_out();
}

void Player::take(const RecordLine& line) {
  if (line.kind == RecordLine::Kind::run) {
    if (in_epoch_) record_.fail("a run goes on here, before the end of epoch " + epoch_text(epoch_));
    return;
  }
  if (line.kind == RecordLine::Kind::tag) return take_tag(line);
  join_epoch(line.epoch);
  if (line.kind == RecordLine::Kind::tick) return end_epoch();
  if (tags_.count(line.tag) == 0) record_.fail("the tag '" + line.tag + "' is used before the line that tells of it");

  Told told{line.kind, kept(line.tag), kept(line.layer), "", "", line.value, 0, 0, 0};
  if (line.kind == RecordLine::Kind::range) {
    told.line = kept(line.low_name);
    told.high_name = kept(line.high_name);
    told.low = line.low;
    told.high = line.high;
  } else {
    told.line = kept(line.line);
  }
  if (line.kind == RecordLine::Kind::histogram) {
    told.first_number = numbers_.size();
    told.bin_count = line.counts.size();
    numbers_.insert(numbers_.end(), line.edges.begin(), line.edges.end());
    numbers_.insert(numbers_.end(), line.counts.begin(), line.counts.end());
  }
  told_.push_back(told);
}

void Player::take_tag(const RecordLine& line) {
  tags_.insert(line.tag);
  audience_.tag({sizeof(loupe_tag), line.tag_type, line.tag.c_str(), line.log_y, line.big, line.annotate, 0,
                 line.y_minimum, line.y_maximum});
}

void Player::join_epoch(double epoch) {
  if (in_epoch_ && epoch != epoch_) {
    record_.fail("epoch " + epoch_text(epoch) + " begins here, before the end of epoch " + epoch_text(epoch_));
  }
  in_epoch_ = true;
  epoch_ = epoch;
}

void Player::end_epoch() {
  audience_.begin_tick(epoch_);
  for (const Told& told : told_) show(told);
  audience_.end_tick();
  told_.clear();
  numbers_.clear();
  in_epoch_ = false;
}

void Player::show(const Told& told) {
  switch (told.kind) {
    case RecordLine::Kind::range:
      return audience_.range(
          {sizeof(loupe_range), 0, told.tag, told.layer, told.line, told.high_name, told.low, told.high});
    case RecordLine::Kind::histogram: {
      const double* edges = numbers_.data() + told.first_number;
      return audience_.histogram({sizeof(loupe_histogram), 0, told.tag, told.layer, told.line, edges,
                                  edges + told.bin_count + 1, told.bin_count});
    }
    default:
      return audience_.value({sizeof(loupe_value), 0, told.tag, told.layer, told.line, told.low});
  }
}

std::string Player::left_out() const {
  const std::string ends = "'" + record_.file() + "' ends ";
  const std::string epoch = "epoch " + epoch_text(epoch_);
  if (in_epoch_ && record_.cut_off()) {
    return ends + "with a line that was cut off; it and what else there is of the unfinished " + epoch +
           " are left out";
  }
  if (in_epoch_) return ends + "before " + epoch + " was finished; what there is of that epoch is left out";
  if (record_.cut_off()) return ends + "with a line that was cut off, which is left out";
  return "";
}

}  // namespace loupe::replay
