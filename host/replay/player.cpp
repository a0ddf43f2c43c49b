#include "replay/player.h"

#include <loupe/error.h>

#include <charconv>
#include <cstring>
#include <deque>

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
                       run.resumed ? static_cast<uint32_t>(LOUPE_RUN_RESUMED) : 0u,
                       name.c_str(),
                       directory.c_str(),
                       run.config.c_str(),
                       run.loupe_version.c_str(),
                       run.libtorch_version.c_str(),
                       run.started.c_str(),
                       0,
                       0,
                       1};
  audience_.tell(&loupe_visualizer::begin, told);
  RecordLine line;
  while (record_.next(line)) take(line);
  const loupe_ending ending{sizeof(loupe_ending), LOUPE_END_COMPLETED, 0, epoch_, 0, 0, nullptr};
  audience_.tell(&loupe_visualizer::flush);
  audience_.tell(&loupe_visualizer::end, ending);
  return left_out();
}

void Player::take(const RecordLine& line) {
  if (line.kind == RecordLine::Kind::run) {
    if (in_epoch_) record_.fail("a run goes on here, before the end of epoch " + epoch_text(epoch_));
    return;
  }
  if (line.kind == RecordLine::Kind::model) return take_model();
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

void Player::take_model() {
  RecordedModel recorded;
  try {
    recorded = parse_model_line(record_.text());
  } catch (const Error& e) {
    record_.fail(e.what());
  }
  // A record says of a module how many elements its parameters have together.
  std::deque<loupe_parameter> parameters;
  std::deque<const loupe_parameter*> parameter_pointers;
  std::deque<loupe_module> modules;
  std::vector<const loupe_module*> pointers;
  for (const RecordedModel::Module& each : recorded.modules) {
    parameters.push_back({sizeof(loupe_parameter), 0, "", 1, each.parameters, &each.parameters});
    parameter_pointers.push_back(&parameters.back());
    loupe_module module{};
    module.struct_size = sizeof module;
    module.flags = each.leaf ? LOUPE_MODULE_LEAF : 0;
    module.name = module.path = each.name.c_str();
    module.model = "";
    module.type = module.full_type = each.type.c_str();
    module.parameters = &parameter_pointers.back();
    module.parameter_count = each.parameters > 0 ? 1 : 0;
    modules.push_back(module);
    pointers.push_back(&modules.back());
  }
  audience_.tell(&loupe_visualizer::model,
                 loupe_model{sizeof(loupe_model), 0, recorded.name.c_str(), recorded.type.c_str(), recorded.parameters,
                             pointers.data(), pointers.size()});
}

void Player::take_tag(const RecordLine& line) {
  tags_.insert(line.tag);
  loupe_tag tag{};
  tag.struct_size = sizeof tag;
  tag.type = line.tag_type;
  tag.id = line.tag.c_str();
  tag.log_y = line.log_y;
  tag.big = line.big;
  tag.annotate = line.annotate;
  tag.y_minimum = line.y_minimum;
  tag.y_maximum = line.y_maximum;
  audience_.tell(&loupe_visualizer::tag, tag);
}

void Player::join_epoch(double epoch) {
  if (in_epoch_ && epoch != epoch_) {
    record_.fail("epoch " + epoch_text(epoch) + " begins here, before the end of epoch " + epoch_text(epoch_));
  }
  in_epoch_ = true;
  epoch_ = epoch;
}

void Player::end_epoch() {
  loupe_tick tick{};
  tick.struct_size = sizeof tick;
  tick.reason = LOUPE_TICK_EPOCH;
  tick.number = ticks_++;
  tick.epoch = epoch_;
  audience_.tell(&loupe_visualizer::begin_tick, tick);
  for (const Told& told : told_) show(told);
  audience_.tell(&loupe_visualizer::end_tick);
  told_.clear();
  numbers_.clear();
  in_epoch_ = false;
}

void Player::show(const Told& told) {
  const char* layer = std::strcmp(told.layer, told.tag) == 0 ? nullptr : told.layer;
  switch (told.kind) {
    case RecordLine::Kind::range:
      return audience_.tell(&loupe_visualizer::range, loupe_range{sizeof(loupe_range), 0, told.tag, layer, told.line,
                                                                  told.high_name, told.low, told.high, nullptr, 0});
    case RecordLine::Kind::histogram: {
      const double* edges = numbers_.data() + told.first_number;
      return audience_.tell(&loupe_visualizer::histogram,
                            loupe_histogram{sizeof(loupe_histogram), 0, told.tag, layer, told.line, edges,
                                            edges + told.bin_count + 1, told.bin_count, nullptr, 0});
    }
    default:
      return audience_.tell(&loupe_visualizer::value,
                            loupe_value{sizeof(loupe_value), 0, told.tag, layer, told.line, told.low, nullptr, 0});
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
