#include "record/player.h"

#include <loupe/error.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <deque>

#include "config/settings.h"

namespace loupe::replay {
namespace {

std::string epoch_text(double epoch) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, epoch).ptr};
}

/// Calls `use` with the run as its record describes it, for the time of the call.
template <class Use>
void lend_run(const RecordedRun& run, const std::string& name, Use&& use) {
  std::vector<const char*> lenses;
  for (const std::string& lens : run.lenses) lenses.push_back(lens.c_str());
  settings_of(run.config).lend([&](const loupe_options* settings) {
    use(loupe_run{.struct_size = sizeof(loupe_run),
                  .flags = run.resumed ? uint32_t{LOUPE_RUN_RESUMED} : 0u,
                  .name = name.c_str(),
                  .directory = run.directory.c_str(),
                  .config = run.config.c_str(),
                  .loupe_version = run.loupe_version.c_str(),
                  .libtorch_version = run.libtorch_version.c_str(),
                  .started = run.started.c_str(),
                  .start_time = run.start_time,
                  .rank = run.rank,
                  .world_size = run.world_size,
                  .train_loss = run.train_loss.c_str(),
                  .validation_loss = run.validation_loss.c_str(),
                  .settings = settings,
                  .lenses = lenses.data(),
                  .lens_count = lenses.size()});
  });
}

}  // namespace

VisualizerGroup::VisualizerGroup(const std::vector<ComponentConfig>& visualizers) {
  for (const ComponentConfig& config : visualizers) {
    try {
      visualizers_.push_back(&own_.emplace_back(config.name, config.entry, config.options->get(), this));
    } catch (const std::exception& e) {
      throw Error("the visualizer '" + config.name + "' cannot be made: " + e.what());
    }
  }
}

void VisualizerGroup::fail(const VisualizerNode& visualizer, const char* what) {
  throw Error("the visualizer '" + visualizer.name() + "' failed: " + what);
}

void VisualizerGroup::tell_event(const RecordLine& line) {
  if (line.kind == RecordLine::Kind::note) return tell(&loupe_visualizer::note, message_of<loupe_note>(line));
  tell(&loupe_visualizer::finding, message_of<loupe_finding>(line));
}

std::string Player::play(const std::string& name, const std::string& directory) {
  begin(record_.run(), name, directory);
  RecordLine line;
  while (record_.next(line)) {
    if (on_line_) on_line_(line);
    take(line);
  }
  // What a run said last, in an epoch that was not finished, may be why.
  for (const Told& told : told_) {
    if (told.event) show(told);
  }
  if (editor_ != nullptr) editor_->end(has_ended());
  visualizers_.flush();
  if (ending_) end();
  return left_out();
}

void Player::play_history(double before, bool with_events) {
  is_history_ = true;
  leaves_out_events_ = !with_events;
  before_ = before;
  RecordLine line;
  while (record_.next(line)) take(line);
  // The one that goes on looks anew; what is still wrong it tells again.
  for (const FindingHistory::Entry* entry : findings_.worst_first()) {
    if (entry->gone || entry->last.last_epoch >= before) continue;
    RecordLine over = entry->last;
    over.state = LOUPE_FINDING_GONE;
    visualizers_.tell_event(over);
  }
}

void Player::begin(const RecordedRun& run, const std::string& name, const std::string& directory) {
  name_ = name;
  lend_run(run, name, [&](loupe_run told) {
    visualizers_.set_run(told);
    told.directory = directory.c_str();
    visualizers_.tell(&loupe_visualizer::begin, told);
  });
}

void Player::go_on() {
  if (is_history_) {
    // It broke off here, maybe in the midst of an epoch.
    forget_epoch();
    return;
  }
  if (in_epoch_) record_.fail("a run goes on here, before the end of epoch " + epoch_text(epoch_));
  show_events();
  findings_.go_on();
  lend_run(parse_run_line(record_.text()), name_, [&](loupe_run told) {
    told.flags = LOUPE_RUN_RESUMED;
    visualizers_.set_run(told);
  });
}

void Player::take(const RecordLine& line) {
  using Kind = RecordLine::Kind;
  ending_.reset();
  if (line.kind == Kind::run) return go_on();
  if (is_history_ && (line.kind == Kind::model || line.kind == Kind::hyperparameter)) return;
  if (line.kind == Kind::model) return take_model();
  if (line.kind == Kind::tag) return take_tag(line);
  if (line.kind == Kind::hyperparameter) return take_hyperparameter();
  if (leaves_out_events_ && (line.kind == Kind::finding || line.kind == Kind::note)) return;
  const bool is_event = line.kind == Kind::finding || line.kind == Kind::note;
  if (is_event && editor_ != nullptr && !editor_->keeps(line)) return;
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
  loupe_model model{.struct_size = sizeof(loupe_model),
                    .name = recorded.name.c_str(),
                    .type = recorded.type.c_str(),
                    .parameter_element_count = recorded.parameters,
                    .own_name = ""};
  for (const RecordedModel::Module& each : recorded.modules) {
    std::vector<const loupe_parameter*>& own = parameter_pointers.emplace_back();
    for (const RecordedModel::Parameter& parameter : each.parameters) {
      const auto dimensions = static_cast<int64_t>(parameter.sizes.size());
      parameters.push_back({.struct_size = sizeof(loupe_parameter),
                            .name = "",
                            .dim = dimensions,
                            .numel = parameter.elements,
                            .sizes = parameter.sizes.data()});
      own.push_back(&parameters.back());
    }
    loupe_module module{};
    module.struct_size = sizeof module;
    module.flags = each.leaf ? LOUPE_MODULE_LEAF : 0;
    module.name = module.path = each.name.c_str();
    module.model = &model;
    module.type = module.full_type = each.type.c_str();
    module.parameters = own.data();
    module.parameter_count = own.size();
    modules.push_back(module);
    pointers.push_back(&modules.back());
  }
  model.modules = pointers.data();
  model.module_count = pointers.size();
  visualizers_.tell(&loupe_visualizer::model, model);
}

void Player::take_tag(const RecordLine& line) {
  show_events();
  tags_.insert(line.tag);
  visualizers_.tell(&loupe_visualizer::tag, message_of<loupe_tag>(line));
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
  visualizers_.tell(&loupe_visualizer::hyperparameter,
                    loupe_option_value{.struct_size = sizeof(loupe_option_value),
                                       .type = setting.type,
                                       .name = setting.name.c_str(),
                                       .integer = setting.integer,
                                       .number = setting.number,
                                       .string = setting.type == LOUPE_TYPE_STRING ? setting.string.c_str() : nullptr,
                                       .strings = strings.data(),
                                       .string_count = strings.size()});
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
  if (is_history_ && epoch_ >= before_) return forget_epoch();
  // What was told of another epoch was told before this one's tick.
  std::size_t first = 0;
  while (first < told_.size() && told_[first].event && told_[first].event->epoch != line.epoch) show(told_[first++]);
  auto tick = message_of<loupe_tick>(line);
  tick.number = ticks_++;
  if (editor_ != nullptr) editor_->begin_tick(tick);
  visualizers_.tell(&loupe_visualizer::begin_tick, tick);
  for (; first < told_.size(); ++first) show(told_[first]);
  if (editor_ != nullptr) editor_->show_numbers();
  visualizers_.tell(&loupe_visualizer::end_tick);
  if (editor_ != nullptr) editor_->end_tick();
  forget_epoch();
}

void Player::end() {
  visualizers_.tell(&loupe_visualizer::end, message_of<loupe_ending>(*ending_));
}

void Player::show(const Told& told) {
  if (told.event) return visualizers_.tell_event(*told.event);
  if (editor_ == nullptr)
    return tell_numbers(told, [&](auto function, const auto& numbers) { visualizers_.tell(function, numbers); });
  tell_numbers(told, [&](auto, const auto& numbers) { edit(numbers); });
}

template <class Tell>
void Player::tell_numbers(const Told& told, Tell&& tell) {
  const char* layer = std::strcmp(told.layer, told.tag) == 0 ? nullptr : told.layer;
  if (told.kind == RecordLine::Kind::histogram) {
    const double* edges = numbers_.data() + told.first_number;
    return tell(&loupe_visualizer::histogram, loupe_histogram{.struct_size = sizeof(loupe_histogram),
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
  tell(&loupe_visualizer::row, loupe_row{.struct_size = sizeof(loupe_row),
                                         .tag = told.tag,
                                         .layer = layer,
                                         .events = told.events,
                                         .value_count = 1 - bands,
                                         .value_names = names,
                                         .values = numbers,
                                         .band_count = bands,
                                         .band_names = names,
                                         .bands = numbers});
}

std::string Player::left_out() const {
  const std::string ends = "'" + record_.file() + "' ends ";
  const std::string epoch = "epoch " + epoch_text(epoch_);
  if (in_epoch_ && record_.cut_off() != nullptr) {
    return ends + "with " + record_.cut_off() + " that was cut off; it and what else there is of the unfinished " +
           epoch + " are left out";
  }
  if (in_epoch_) return ends + "before " + epoch + " was finished; what there is of that epoch is left out";
  if (record_.cut_off() != nullptr) return ends + "with " + record_.cut_off() + " that was cut off, which is left out";
  return "";
}

}  // namespace loupe::replay
