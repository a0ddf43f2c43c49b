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

const char* or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

}  // namespace

std::string Player::play(const std::string& name, const std::string& directory) {
  begin(record_.run(), name, directory);
  RecordLine line;
  while (record_.next(line)) take(line);
  // What a run said last, in an epoch that was not finished, may be why.
  for (const Told& told : told_) {
    if (told.event) show(told);
  }
  audience_.tell(&loupe_visualizer::flush);
  if (ending_) end();
  return left_out();
}

void Player::play_past(double before, bool with_events) {
  is_past_ = true;
  leaves_out_events_ = !with_events;
  before_ = before;
  RecordLine line;
  while (record_.next(line)) take(line);
  // The one that goes on looks anew; what is still wrong it tells again.
  for (const FindingHistory::Entry* entry : findings_.worst_first()) {
    if (entry->gone || entry->last.last_epoch >= before) continue;
    RecordLine over = entry->last;
    over.state = LOUPE_FINDING_GONE;
    show_event(over);
  }
}

void Player::begin(const RecordedRun& run, const std::string& name, const std::string& directory) {
  loupe_run told{sizeof(loupe_run),
                 run.resumed ? static_cast<uint32_t>(LOUPE_RUN_RESUMED) : 0u,
                 name.c_str(),
                 run.directory.c_str(),
                 run.config.c_str(),
                 run.loupe_version.c_str(),
                 run.libtorch_version.c_str(),
                 run.started.c_str(),
                 run.start_time,
                 run.rank,
                 run.world_size,
                 nullptr,
                 nullptr};
  audience_.set_run(told);
  name_ = name;
  told.directory = directory.c_str();
  audience_.tell(&loupe_visualizer::begin, told);
}

void Player::go_on() {
  if (is_past_) {
    // It broke off here, maybe in the midst of an epoch.
    forget_epoch();
    return;
  }
  if (in_epoch_) record_.fail("a run goes on here, before the end of epoch " + epoch_text(epoch_));
  show_events();
  findings_.go_on();
  const RecordedRun run = parse_run_line(record_.text());
  audience_.set_run({sizeof(loupe_run), static_cast<uint32_t>(LOUPE_RUN_RESUMED), name_.c_str(), run.directory.c_str(),
                     run.config.c_str(), run.loupe_version.c_str(), run.libtorch_version.c_str(), run.started.c_str(),
                     run.start_time, run.rank, run.world_size, nullptr, nullptr});
}

void Player::take(const RecordLine& line) {
  using Kind = RecordLine::Kind;
  ending_.reset();
  if (line.kind == Kind::run) return go_on();
  if (is_past_ && (line.kind == Kind::model || line.kind == Kind::hyperparameter)) return;
  if (line.kind == Kind::model) return take_model();
  if (line.kind == Kind::tag) return take_tag(line);
  if (line.kind == Kind::hyperparameter) return take_hyperparameter();
  if (leaves_out_events_ && (line.kind == Kind::finding || line.kind == Kind::note)) return;
  if (line.kind == Kind::finding) findings_.take(line);
  if (line.kind == Kind::finding || line.kind == Kind::note) {
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
  if (tags_.count(line.tag) == 0) record_.fail("the tag '" + line.tag + "' is used before the line that tells of it");

  Told told{line.kind, kept(line.tag), kept(line.layer), "", "", line.value, 0, line.events, 0, 0, nullptr};
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

void Player::take_model() {
  show_events();
  RecordedModel recorded;
  try {
    recorded = parse_model_line(record_.text());
  } catch (const Error& e) {
    record_.fail(e.what());
  }
  std::deque<loupe_parameter> parameters;
  std::deque<std::vector<const loupe_parameter*>> parameter_pointers;
  std::deque<loupe_module> modules;
  std::vector<const loupe_module*> pointers;
  for (const RecordedModel::Module& each : recorded.modules) {
    std::vector<const loupe_parameter*>& own = parameter_pointers.emplace_back();
    for (const RecordedModel::Parameter& parameter : each.parameters) {
      const auto dimensions = static_cast<int64_t>(parameter.sizes.size());
      parameters.push_back({sizeof(loupe_parameter), 0, "", dimensions, parameter.elements, parameter.sizes.data()});
      own.push_back(&parameters.back());
    }
    loupe_module module{};
    module.struct_size = sizeof module;
    module.flags = each.leaf ? LOUPE_MODULE_LEAF : 0;
    module.name = module.path = each.name.c_str();
    module.model = "";
    module.type = module.full_type = each.type.c_str();
    module.parameters = own.data();
    module.parameter_count = own.size();
    modules.push_back(module);
    pointers.push_back(&modules.back());
  }
  audience_.tell(&loupe_visualizer::model,
                 loupe_model{sizeof(loupe_model), 0, recorded.name.c_str(), recorded.type.c_str(), recorded.parameters,
                             pointers.data(), pointers.size()});
}

void Player::take_tag(const RecordLine& line) {
  show_events();
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
  tag.title = or_null(line.title);
  tag.unit = or_null(line.unit);
  tag.description = or_null(line.description);
  tag.healthy = or_null(line.healthy);
  tag.advice = or_null(line.advice);
  audience_.tell(&loupe_visualizer::tag, tag);
}

void Player::take_hyperparameter() {
  show_events();
  RecordedSetting setting;
  try {
    setting = parse_hyperparameter_line(record_.text());
  } catch (const Error& e) {
    record_.fail(e.what());
  }
  std::vector<const char*> strings;
  for (const std::string& each : setting.strings) strings.push_back(each.c_str());
  audience_.tell(&loupe_visualizer::hyperparameter,
                 loupe_option_value{sizeof(loupe_option_value), setting.type, setting.name.c_str(), setting.integer,
                                    setting.number, setting.string.c_str(), strings.data(), strings.size(), nullptr});
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

void Player::forget_epoch() {
  told_.clear();
  numbers_.clear();
  in_epoch_ = false;
}

void Player::end_epoch(const RecordLine& line) {
  if (is_past_ && epoch_ >= before_) return forget_epoch();
  // What was told of another epoch was told before this one's tick.
  std::size_t first = 0;
  while (first < told_.size() && told_[first].event && told_[first].event->epoch != line.epoch) show(told_[first++]);
  loupe_tick tick{};
  tick.struct_size = sizeof tick;
  tick.reason = line.reason;
  tick.flags = line.incomplete ? static_cast<uint32_t>(LOUPE_TICK_INCOMPLETE) : 0u;
  tick.number = ticks_++;
  tick.epoch = epoch_;
  tick.step = line.step;
  tick.time = line.timestamp;
  tick.elapsed = line.elapsed;
  audience_.tell(&loupe_visualizer::begin_tick, tick);
  for (; first < told_.size(); ++first) show(told_[first]);
  audience_.tell(&loupe_visualizer::end_tick);
  forget_epoch();
}

void Player::end() {
  audience_.tell(&loupe_visualizer::end, loupe_ending{sizeof(loupe_ending), ending_->how, ending_->step, ending_->epoch,
                                                      ending_->timestamp, ending_->elapsed, or_null(ending_->message)});
}

void Player::show_event(const RecordLine& line) {
  if (line.kind == RecordLine::Kind::note) {
    return audience_.tell(&loupe_visualizer::note, loupe_note{sizeof(loupe_note), line.about, line.text.c_str(),
                                                              line.step, line.epoch, line.timestamp});
  }
  audience_.tell(&loupe_visualizer::finding,
                 loupe_finding{sizeof(loupe_finding), line.severity, line.state, 0, line.rule.c_str(), nullptr,
                               or_null(line.layer), or_null(line.parameter), line.message.c_str(), or_null(line.advice),
                               or_null(line.tag), or_null(line.source), line.value, line.threshold, line.first_step,
                               line.last_step, line.first_epoch, line.last_epoch, line.count});
}

void Player::show(const Told& told) {
  if (told.event) return show_event(*told.event);
  const char* layer = std::strcmp(told.layer, told.tag) == 0 ? nullptr : told.layer;
  switch (told.kind) {
    case RecordLine::Kind::range:
      return audience_.tell(&loupe_visualizer::range,
                            loupe_range{sizeof(loupe_range), 0, told.tag, layer, told.line, told.high_name, told.low,
                                        told.high, nullptr, told.events});
    case RecordLine::Kind::histogram: {
      const double* edges = numbers_.data() + told.first_number;
      return audience_.tell(&loupe_visualizer::histogram,
                            loupe_histogram{sizeof(loupe_histogram), 0, told.tag, layer, told.line, edges,
                                            edges + told.bin_count + 1, told.bin_count, nullptr, told.events});
    }
    default:
      return audience_.tell(&loupe_visualizer::value, loupe_value{sizeof(loupe_value), 0, told.tag, layer, told.line,
                                                                  told.low, nullptr, told.events});
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
