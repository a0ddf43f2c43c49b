#include "pipeline/monitor.h"

#include <loupe/detail/option_values.h>
#include <loupe/detail/parameter_group.h>
#include <loupe/detail/whole.h>
#include <loupe/draft/abi/step_time.h>
#include <loupe/files/replacement.h>
#include <loupe/options.h>
#include <loupe/row.h>
#include <loupe/text/number_text.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string_view>

#include "config/settings.h"
#include "core/clock.h"
#include "core/last_words.h"
#include "core/locks.h"
#include "core/log.h"
#include "core/own_time.h"
#include "core/text.h"
#include "core/threads.h"
#include "loupe/config_error.h"

namespace loupe {

// Construction, modules, notes, findings and incidents.
namespace {

RunDescription describe(const Config& config) {
  RunDescription run;
  run.name = utf8(config.run_name);
  run.directory = config.run_directory;
  run.config = utf8(config.text);
  run.settings = settings_of(run.config);
  for (const ComponentConfig& lens : config.lenses) run.lenses.emplace_back(lens.entry.component->name);
  run.start_time = wall_time();
  run.resumed = config.resume;
  run.rank = config.launch.rank;
  run.world_size = config.launch.world_size;
  run.train_loss = utf8(config.train_loss);
  run.validation_loss = utf8(config.validation_loss);
  return run;
}

void tell_failure(std::string_view what, const std::exception& reason) noexcept {
  try {
    log(LOUPE_LOG_ERROR, std::string(what) + reason.what());
  } catch (const std::exception&) {  // out of memory
  }
}

}  // namespace

Monitor::Monitor(Config config, MonitorHost* host)
    : config_(std::move(config)),
      modules_(step_, config_.history),
      display_(this),
      schedule_(config_.active, static_cast<uint64_t>(config_.every), config_.budget),
      clock_(config_.tick),
      last_tick_(steady_time()),
      start_(std::chrono::steady_clock::now()),
      epoch_start_(start_),
      last_progress_(start_) {
  name_components_in_crashes();
  tell_problems();
  display_.set_run(describe(config_));
  display_.replace(config_.visualizers);
  expect_files_of(config_.visualizers);
  for (const ComponentConfig& lens : config_.lenses) {
    try {
      lenses_.push_back(std::make_unique<LensNode>(lens, config_.catalogue, config_.stop_on_error, *this));
    } catch (const std::exception& e) {
      throw ConfigError(lens.place() + "the lens '" + lens.name + "' cannot be created: " + e.what());
    }
  }
  begin_epoch();
  for (const auto& lens : lenses_) begin(*lens);
  if (writes_incidents()) keep_incidents();
  if (lenses_.empty() && !config_.visualizers.empty()) {
    log(LOUPE_LOG_WARNING, config_.file +
                               ": no lens is named, so the visualizers have nothing to show; name some under lenses "
                               "('loupe list' shows all)");
  }
  if (std::any_of(lenses_.begin(), lenses_.end(), [](const auto& lens) { return lens->hears_numbers(); })) {
    display_.set_on_value([this](const RowValue& value) {
      for (const auto& lens : lenses_) lens->hear(value.tag, layer_of(value), value.line, value.value);
    });
  }
  time_steps();
  tell_problems();
  if (config_.launch.world_size > 1) schedule_.agree();
  if (host != nullptr) host_ = host;
}

void Monitor::begin(LensNode& lens) {
  lens.attach();
  const std::optional<Hearer> hearer = lens.hearer();
  if (hearer) hearers_.push_back(*hearer);
  for (const auto& module : modules_.all()) {
    if (hearer) module->add_hearer(*hearer);
    lens.visit(*module);
  }
}

void Monitor::time_steps() {
  const auto is_watched = [this](uint32_t tap) { return modules_.pushes().stream(tap) != nullptr; };
  if (timing_) return;
  if (config_.trace_steps == 0 && !is_watched(LOUPE_DRAFT_TAP_STEP_TIME) && !is_watched(LOUPE_DRAFT_TAP_STEP_MEMORY))
    return;
  const auto* const timing = part<TimingTable>(TimingTable::without);
  if (timing == nullptr) return;
  const auto folder = [this] {
    claim_folder();
    return display_.run().directory;
  };
  timing_ = timing->make(modules_, {config_.trace_steps, config_.trace_after, config_.run_name, folder});
}

void Monitor::tell_problems() {
  const std::vector<std::string>& problems = config_.catalogue.problems();
  for (; told_problems_ < problems.size(); ++told_problems_) log(LOUPE_LOG_WARNING, problems[told_problems_]);
}

void Monitor::expect_files_of(const std::vector<ComponentConfig>& visualizers) {
  for (const ComponentConfig& component : visualizers) {
    const Options options(component.options->get());
    if (!options.has("path")) continue;
    if (const auto path = options.get<std::string>("path"); !path.empty()) files_.push_back(path);
  }
}

void Monitor::claim_folder() {
  if (config_.lenses.empty() && config_.visualizers.empty()) return;
  RunDescription run = display_.run();
  const std::string before = run.directory;
  const auto claim = folder_.claim(run.directory, !has_own_folder());
  if (claim == RunFolder::Claim::lost) run.resumed = false;  // the new folder does not have the files that it resumed
  if (run.directory != before && claim == RunFolder::Claim::lost) {
    display_.move(run);
  } else if (claim != RunFolder::Claim::held) {
    display_.set_run(run);
  }
  if (claim != RunFolder::Claim::held && has_own_folder()) NewFile::remove_left_behind(run.directory);
  if (run.resumed) return;
  const bool has_kept = folder_.keep_older(files_);
  if (claim != RunFolder::Claim::lost) kept_older_ = has_kept || kept_older_;
}

loupe_moment Monitor::moment(double epoch) const {
  return {.step = step_,
          .epoch = epoch,
          .time = wall_time(),
          .elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()};
}

std::shared_ptr<ModuleNode> Monitor::add_module(ModuleDescription description, const std::shared_ptr<ModelNode>& model,
                                                const ModuleNode* parent) {
  auto node = take_module(std::move(description), model, parent);
  show_module(*node);
  return node;
}

std::shared_ptr<ModuleNode> Monitor::take_module(ModuleDescription description, const std::shared_ptr<ModelNode>& model,
                                                 const ModuleNode* parent) {
  const Exclusive::Call call(serial_, "visit", "the lenses", Reentry::allowed);
  auto node = modules_.add(std::move(description), model, parent);
  for (const Hearer& each : hearers_) node->add_hearer(each);
  if (keeper_) keeper_->add_module(node->description());
  return node;
}

void Monitor::show_module(ModuleNode& module) {
  const Exclusive::Call call(serial_, "visit", "the lenses", Reentry::allowed);
  each_lens([&](LensNode& lens) { lens.visit(module); });
  tell_problems();
}

void Monitor::remove_module(const std::shared_ptr<ModuleNode>& module) {
  if (!modules_.has(*module)) return;
  if (timing_) timing_->deliver();
  module->close();
  if (module->has_events()) return;
  each_lens([&](LensNode& lens) { lens.forget(*module); });
  modules_.remove(module);
}

void Monitor::announce(const ModelNode& model) {
  schedule_.begin_model();
  const Exclusive::Call call(serial_, "model", "the visualizers");
  display_.model(*model.c_model());
  // The record and the report must say which values are estimates.
  if (const std::string words = estimate_words(model.modules()); !words.empty()) note(LOUPE_NOTE_COST, words);
}

void Monitor::set_directory(const std::string& directory) {
  RunDescription run = display_.run();
  run.directory = config_.launch.folder_in(directory);
  display_.set_run(std::move(run));
  if (writes_incidents()) keep_incidents();
}

std::optional<double> Monitor::query(const std::string& key) {
  for (const auto& lens : lenses_) {
    if (const auto value = lens->query(key)) return value;
  }
  return std::nullopt;
}

void Monitor::note(uint32_t kind, const std::string& text, uint64_t finding) {
  outbox_->post({kind, utf8(text), moment(0), finding});
}

void Monitor::publish(const loupe_finding& finding, const std::string& speaker) {
  loupe_finding copy = detail::known_part(finding);
  copy.source = speaker.c_str();
  outbox_->post(copy);
}

void Monitor::show_messages() {
  if (!outbox_->has_messages()) return;
  claim_folder();
  for (const Outbox::Message& message : outbox_->take_messages()) {
    if (const auto* finding = std::get_if<Outbox::OwnedFinding>(&message)) {
      show_finding((*finding)->get());
    } else {
      const auto& note = std::get<Outbox::Note>(message);
      loupe_moment at = note.at;
      at.epoch = epoch_at_hand();
      display_.note({.struct_size = sizeof(loupe_note),
                     .kind = note.kind,
                     .text = note.text.c_str(),
                     .at = at,
                     .finding = note.finding});
    }
  }
}

void Monitor::show_finding(const loupe_finding& finding) {
  loupe_finding placed = detail::known_part(finding);
  const SourceLine place = placed.file == nullptr ? modules_.place_of(placed) : SourceLine();
  if (!place.file.empty()) {
    placed.file = place.file.c_str();
    placed.line = place.line;
  }
  const loupe_finding* shown = findings_.add(placed, step_, epoch_at_hand());
  if (shown == nullptr) return;
  if (!config_.launch.shows()) tell_error(*shown);
  display_.finding(*shown);
  if (timing_) timing_->found(*shown);
  if (incident_lens_ != nullptr && has_own_folder() && !due_ && incident_lens_->writes_at(*shown))
    due_ = std::make_unique<const detail::Owned<loupe_finding>>(*shown);
  if (life_ == Life::runs) host_->finding_told(*shown);
}

/// Logs the first finding of each rule, and once that there are more, if this process shows nothing itself.
void Monitor::tell_error(const loupe_finding& finding) const {
  if (finding.severity != LOUPE_SEVERITY_ERROR || finding.state != LOUPE_FINDING_RAISED) return;
  const Finding told = Finding::from(finding);
  const auto all = findings_.all();
  const auto count = std::count_if(all.begin(), all.end(), [&](const loupe_finding* each) {
    return each->severity == LOUPE_SEVERITY_ERROR && told.rule == each->rule && told.source == each->source;
  });
  const std::string where = told.rule + "; see " + display_.run().directory + ")";
  if (count == 1)
    log(LOUPE_LOG_ERROR, (told.layer.empty() ? "" : told.layer + ": ") + message_with_place(finding) + " (" + where);
  else if (count == 2)
    log(LOUPE_LOG_ERROR, "the same for more layers (" + where);
}

void Monitor::join(const Launch& launch) {
  log_as_rank(launch.rank);
  const std::size_t lenses = config_.lenses.size();
  config_.join(launch);
  if (config_.launch.world_size > 1) schedule_.agree();
  display_.set_run(describe(config_));
  if (!config_.launch.shows()) display_.replace(config_.visualizers);
  for (std::size_t i = lenses; i < config_.lenses.size(); ++i) {
    lenses_.push_back(std::make_unique<LensNode>(config_.lenses[i], config_.catalogue, config_.stop_on_error, *this));
    begin(*lenses_.back());
  }
  if (writes_incidents()) keep_incidents();
}

void Monitor::keep_ticks(std::unique_ptr<TickKeeper> keeper) {
  keeper_ = std::move(keeper);
  for (const auto& module : modules_.all()) keeper_->add_module(module->description());
  display_.hold_ticks();
}

void Monitor::show_complete(TickKeeper::Complete complete) {
  for (const auto& [level, line] : complete.log) log(level, line);
  for (const std::string& text : complete.told_notes) note(LOUPE_NOTE_RANKS, text);
  for (const std::string& text : complete.notes) {
    log(LOUPE_LOG_WARNING, text);
    note(LOUPE_NOTE_RANKS, text);
  }
  for (auto& tick : complete.ticks) display_.show(std::move(tick));
  for (const auto& finding : complete.findings) publish(finding->get(), finding->get().source);
  show_messages();
  if (!writes_incidents()) return;
  for (const std::string& why : complete.incidents) {
    write_incident("rank", why);
    show_messages();
  }
}

void Monitor::tell_fault() {
  if (const std::string fault = display_.take_fault(); !fault.empty()) keeper_->tell_fault(fault);
}

void Monitor::finish_ticks() {
  if (!keeper_) return;
  display_.wait();
  tell_fault();
  show_complete(keeper_->finish());
}

// The clock of a monitor: measured steps, steps and ticks.

void Monitor::set_active(LookSchedule::ActiveWhen when) {
  schedule_.set_active(std::move(when));
  if (!is_over()) begin_epoch();
}

/// Decides which lenses measure the epoch that begins.
void Monitor::begin_epoch() {
  const bool is_new = schedule_.begin_epoch(tick_);
  bool changed = is_new, resumes = is_new;
  for (const auto& lens : lenses_) {
    if (!lens->begin_epoch(active(), tick_)) continue;
    changed = true;
    resumes = resumes || !lens->resting();
  }
  if (!changed) return;
  modules_.each([&](ModuleNode& module) {
    if (is_new && looks()) module.forget_history();
    module.follow_lenses();
  });
  if (resumes) host_->looking_changed();
}

void Monitor::push(const std::string& label, double value, uint32_t flags) {
  if (clock_.counts_time()) {
    if (const uint32_t reason = clock_.due(step_)) outbox_->post_tick(reason);
  }
  constexpr uint32_t training_loss = LOUPE_EVENT_LOSS | LOUPE_EVENT_TRAINING;
  // The following steps show which layer is to blame: the model stays damaged.
  if ((flags & training_loss) == training_loss && !std::isfinite(value)) schedule_.look_fully();
  if (!active()) return;
  const std::string shown = utf8(label);
  if (Stream* stream = modules_.pushes().stream(LOUPE_TAP_PUSH))
    stream->dispatch(nullptr, flags, nullptr, value, shown.c_str());
}

void Monitor::note_step(const loupe_optimizer* optimizer, bool counts) {
  const std::lock_guard lock(*mutex_);
  if (is_over()) return;
  note_step_now(optimizer, counts);
  call_is_over();
}

void Monitor::note_step_now(const loupe_optimizer* optimizer, bool counts) {
  const Exclusive::Call call(serial_, "step", "the inspector", Reentry::allowed);
  const CallCount count(calls_);
  in_tick_ = false;  // also if a lens's exception ended the last tick
  if (timing_) timing_->deliver();
  uncounted_ = counts ? 0 : uncounted_ + 1;
  if (counts) {
    ++steps_;
    ++step_;
    if (active() && looks()) ++measured_;
    step_counted_ = true;
  }
  if (optimizer != nullptr && optimizer->id > newest_optimizer_) tell_optimizer(*optimizer);
  if (active()) {
    const loupe_step step{.struct_size = sizeof(loupe_step),
                          .flags = looks() ? uint32_t{LOUPE_STEP_MEASURED} : 0,
                          .at = moment(epoch_ + 1),
                          .epochs = epochs_,
                          .optimizer = optimizer};
    each_lens([&](LensNode& lens) {
      if (lens.wants_steps()) lens.step(step);
      show_messages();
    });
  }
  show_messages();
  write_due_incident();
  if (keeper_) show_complete(keeper_->take_complete());
  show_progress();
}

/// Shows the settings of each model's first optimizer, and of one that replaces it, for tables of runs.
void Monitor::tell_optimizer(const loupe_optimizer& optimizer) {
  newest_optimizer_ = optimizer.id;
  if (optimizer.group_count == 0) return;
  const bool is_first = optimized_models_.insert(optimizer.model_name).second;
  for (const loupe_optimizer* other : host_->optimizers()) {
    const bool is_beside = other->id != optimizer.id && std::strcmp(other->model_name, optimizer.model_name) == 0;
    if (!is_first && is_beside) return;
  }
  const std::string name =
      optimized_models_.size() == 1 ? "optimizer" : std::string(optimizer.model_name) + " optimizer";
  const loupe_parameter_group& group = *optimizer.groups[0];
  const auto tell = [&](const std::string& what, uint32_t type, double number, const char* text) {
    const loupe_option_value value{.struct_size = sizeof(loupe_option_value),
                                   .type = type,
                                   .name = what.c_str(),
                                   .number = number,
                                   .string = text};
    display_.hyperparameter(value);
  };
  tell(name, LOUPE_TYPE_STRING, 0, optimizer.type);
  if (const auto rate = learning_rate_of(group); rate && std::isfinite(*rate))
    tell(name + " rate", LOUPE_TYPE_NUMBER, *rate, nullptr);
  if (group.weight_decay > 0) tell(name + " weight decay", LOUPE_TYPE_NUMBER, group.weight_decay, nullptr);
}

/// Sends the progress to the visualizers, at most five times a second.
void Monitor::show_progress() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_progress_ < std::chrono::milliseconds(200) || !display_.wants_progress()) return;
  last_progress_ = now;
  claim_folder();
  double lens_seconds = 0;
  for (const auto& lens : lenses_) lens_seconds += lens->seconds();
  const loupe_progress progress{.struct_size = sizeof(loupe_progress),
                                .at = moment(epoch_ + 1),
                                .epochs = epochs_,
                                .steps = steps_,
                                .steps_before = steps_before_,
                                .seconds = std::chrono::duration<double>(now - epoch_start_).count(),
                                .lens_seconds = lens_seconds};
  display_.progress(progress);
}

void Monitor::end_step(bool seen) {
  // When the model that counts steps no longer trains, the steps of the others advance the schedule.
  constexpr uint64_t clock_stands = 16;
  const bool is_counted = std::exchange(step_counted_, false);
  if (!is_counted && uncounted_ < clock_stands) return;
  if (schedule_.end_step(seen)) {
    const OwnTime own(OwnTime::Of::hooks);
    if (looks()) modules_.each([](ModuleNode& module) { module.forget_history(); });
    host_->looking_changed();
  }
  if (!is_counted) return;
  time_steps();
  if (timing_) timing_->stepped(step_, looks());
  if (const uint32_t reason = clock_.due(step_)) outbox_->post_tick(reason);
  if (outbox_->has_tick()) host_->tick_due();
}

bool Monitor::tick_if_due() {
  if (in_tick_ || !outbox_->has_tick()) return false;
  tick(std::nullopt, outbox_->take_tick());
  return true;
}

void Monitor::tick_rest() {
  if (!clock_.is_automatic() || (!clock_.has_steps_since_tick(step_) && modules_.unticked() == 0)) return;
  tick(std::nullopt, LOUPE_TICK_END, LOUPE_TICK_INCOMPLETE);
}

void Monitor::begin_after(uint64_t steps) {
  step_ = first_step_ = steps;
  const uint64_t ticks = clock_.begin_after(steps);
  if (config_.tick.by == TickRule::By::steps) epoch_ = static_cast<double>(ticks);
}

void Monitor::begin_epochs_at(double first) {
  if (step_ == 0 && first > 1) {
    if (const auto before = display_.last_before(first)) begin_after(before->step);
  }
  epoch_ = first - 1;
}

void Monitor::tick(std::optional<double> epoch, uint32_t reason, uint32_t flags) {
  const std::lock_guard lock(*mutex_);
  if (is_over()) return;
  const bool is_first = tick_ == 1;
  tick_now(epoch, reason, flags);
  call_is_over();
  // The first tick creates statics, in lenses by now and in visualizers later.
  if (is_first) AbnormalEnd::come_before_statics();
  if (is_first) display_.when_told(&AbnormalEnd::come_before_statics);
}

void Monitor::tell_loaded() try {
  const std::filesystem::path record = display_.record();
  if (record.empty() || !folder_.is_claimed() || !has_own_folder()) return;
  loaded_.tell_news([&](const std::string& text) {
    NewFile file(record.parent_path() / loaded_file_name, record);
    file.write(text);
    file.take_the_place(false);
  });
} catch (const std::exception&) {
  // The record reports a folder that cannot be written to.
}

void Monitor::tick_now(std::optional<double> epoch, uint32_t reason, uint32_t flags) {
  const Exclusive::Call call(serial_, "tick", "the inspector");
  const CallCount count(calls_);
  const OwnTime own(OwnTime::Of::reports);
  epoch_ = epoch.value_or(epoch_ + 1);
  if (tick_ == 1) first_epoch_ = epoch_;
  if (timing_) timing_->deliver();
  if (active()) {
    in_tick_ = true;
    report(reason, flags);
    in_tick_ = false;
    host_->after_tick();
    modules_.each([](ModuleNode& module) { module.ticked(); });
  }
  modules_.remove_closed([this](const ModuleNode& module) { each_lens([&](LensNode& lens) { lens.forget(module); }); });
  judge_costs();
  steps_before_ = std::exchange(steps_, 0);
  measured_before_ = measured_;
  clock_.ticked(step_);
  if (timing_) timing_->interrupt();
  outbox_->take_tick();
  epoch_start_ = std::chrono::steady_clock::now();
  ++tick_;
  tell_loaded();
  if (life_ == Life::runs) begin_epoch();  // calls a function of the trainer
}

/// Lenses report to the visualizers, and their findings are shown.
void Monitor::report(uint32_t reason, uint32_t flags) {
  claim_folder();
  host_->before_tick();
  modules_.each([](ModuleNode& module) { module.collect_deferred(); });
  modules_.warn_of_lacking();
  const std::vector<const loupe_optimizer*> optimizers = host_->optimizers();
  const loupe_tick tick{.struct_size = sizeof(loupe_tick),
                        .reason = reason,
                        .flags = flags,
                        .number = static_cast<uint64_t>(tick_ - 1),
                        .at = moment(epoch_),
                        .optimizers = optimizers.data(),
                        .optimizer_count = optimizers.size(),
                        .steps = steps_,
                        .measured_steps = measured_ - measured_before_};
  if (std::exchange(kept_older_, false) && first_epoch_ > 1) {
    log(LOUPE_LOG_WARNING,
        "this run began with a later epoch than the first; if it continues an earlier run, set 'resume: true' "
        "under run, so that its files continue too");
  }
  if (keeper_) show_complete(keeper_->take_complete());
  display_.begin_tick(tick);
  std::vector<LensStates> states;
  for (const auto& lens : lenses_) {
    lens->report(tick, display_, [&] {
      if (keeper_) states.push_back(keeper_->states_of(*lens));
    });
    show_messages();
  }
  for (const auto& lens : lenses_) lens->end_numbers(tick);
  show_messages();
  display_.end_tick();
  if (keeper_) {
    tell_fault();
    if (auto own = keeper_->add_tick(std::move(states), display_.take_held())) display_.show(std::move(own));
  }
  write_due_incident();
}

void Monitor::judge_costs() {
  const double now = steady_time(), wall = now - std::exchange(last_tick_, now);
  if (!active()) return;
  for (const auto& lens : lenses_) lens->judge_cost(wall);
}

// The end of a monitor: with its trainer, by an exception, or with the process.
Monitor::~Monitor() {
  end_lenses();
  if (life_ == Life::ended) return;
  try {
    if (timing_) timing_->end();
    tell_measured();
    tell_unwritten();
    show_messages();
    if (folder_.is_claimed()) claim_folder();
    display_.end(ending(is_early() ? LOUPE_END_INTERRUPTED : LOUPE_END_COMPLETED, nullptr));
  } catch (const std::exception& e) {
    tell_failure("the end of the run cannot be reported: ", e);
  }
}

void Monitor::end_lenses() {
  if (abnormal_end_) AbnormalEnd::act_on_signal();
  abnormal_end_.reset();
  modules_.each([](ModuleNode& module) { module.close(); });
  try {
    if (life_ == Life::runs && has_lenses_) modules_.warn_of_unticked();
    has_lenses_ = false;  // gatherers hold pointers to lenses, so lenses go last
    lenses_.clear();
    incident_lens_ = nullptr;
    own_lens_.reset();
    if (life_ != Life::runs) return;
    finish_ticks();
    show_messages();
  } catch (const std::exception& e) {
    tell_failure("the last findings of lenses cannot be reported: ", e);
  }
}

loupe_ending Monitor::ending(uint32_t how, const char* message) const {
  return {.struct_size = sizeof(loupe_ending), .how = how, .at = moment(epoch_), .message = message};
}

void Monitor::end(uint32_t how, const char* message) try {
  const std::lock_guard lock(*mutex_);
  if (life_ != Life::runs) return;
  life_ = Life::ends;
  try {
    if (is_open()) tick(std::nullopt, LOUPE_TICK_END, LOUPE_TICK_INCOMPLETE);
    finish_ticks();
    if (timing_) timing_->end();
    tell_measured();
    tell_unwritten();
    show_messages();
  } catch (const std::exception& e) {
    tell_failure("the last steps of the run cannot be shown: ", e);
  }
  if (folder_.is_claimed()) claim_folder();
  display_.end(ending(how, message));
  life_ = Life::ended;
} catch (const std::exception& e) {
  tell_failure("the end of the run cannot be reported: ", e);
}

/// Reports log messages that appear nowhere else.
void Monitor::tell_unwritten() {
  if (const uint64_t count = unwritten_messages()) note(LOUPE_NOTE_UNOBSERVED, unwritten_words(count));
}

/// Reports once how many steps were measured, if a budget skipped some.
void Monitor::tell_measured() {
  const uint64_t steps = step_ - first_step_;
  if (config_.budget <= 0 || measured_ >= steps) return;
  note(LOUPE_NOTE_COST, std::to_string(measured_) + " of " + std::to_string(steps) +
                            " steps were measured, as many as attach.budget allows (" +
                            rounded_text(100 * config_.budget) + " % of the time)");
}

/// Whether the run is within an epoch. An evaluation after the last epoch begins none.
bool Monitor::is_open() const {
  return clock_.has_steps_since_tick(step_) || (step_ == 0 && modules_.unticked() > 0);
}

/// Called after each step and tick, when no call of this monitor is active.
void Monitor::call_is_over() {
  if (calls_ > 0 || life_ != Life::runs) return;
  const bool is_new = !abnormal_end_ && (writes_incidents() || !display_.is_empty());
  if (is_new) abnormal_end_ = std::make_unique<AbnormalEnd>([this](const ProcessEnd& end) { process_ends(end); });
  if (is_new) AbnormalEnd::come_before_statics();
  LastWords::set_step(&loaded_, step_);
  AbnormalEnd::act_on_signal();
}

void Monitor::process_ends(const ProcessEnd& end) {
  const bool exits = end.how == "exit";
  // Let a tick of another thread end first, since its data is about to be written.
  const auto lock = lock_soon(*mutex_, std::chrono::seconds(1));
  if (!exits && life_ == Life::runs && writes_incidents()) write_incident(end.how, end.why);
  if (!lock || calls_ > 0) {  // only its last words can be written, after earlier messages
    JobThread::all_done(std::chrono::seconds(3));
    return;
  }
  if (!end.is_final) {
    if (folder_.is_claimed()) claim_folder();
    return display_.flush();
  }
  if (exits) {
    const bool is_broken_off = is_early() || is_open();
    this->end(is_broken_off ? LOUPE_END_INTERRUPTED : LOUPE_END_COMPLETED,
              is_broken_off ? "the program ended by exit()" : nullptr);
  } else if (end.how == "terminate") {
    this->end(LOUPE_END_FAILED, end.why.empty() ? "std::terminate was called" : end.why.c_str());
  } else {
    this->end(LOUPE_END_INTERRUPTED, end.how.c_str());
  }
}

}  // namespace loupe
