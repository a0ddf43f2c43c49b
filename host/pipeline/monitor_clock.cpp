// The clock of a monitor: which steps are looked at, and what a step and a tick set off.

#include <loupe/detail/parameter_group.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "core/clock.h"
#include "core/log.h"
#include "core/utf8.h"
#include "pipeline/monitor.h"

namespace loupe {

void Monitor::set_active(LookSchedule::ActiveWhen when) {
  schedule_.set_active(std::move(when));
  if (!is_over()) begin_epoch();
}

/// Which lenses look at the epoch that begins.
void Monitor::begin_epoch() {
  const bool is_new = schedule_.begin_epoch(tick_);
  bool changed = is_new, resumes = is_new;
  for (const auto& lens : lenses_) {
    if (!lens->begin_epoch(active(), tick_)) continue;
    changed = true;
    resumes = resumes || !lens->resting();
  }
  if (!changed) return;
  modules_.each([](ModuleNode& module) { module.follow_lenses(); });
  if (resumes) host_->looking_changed();
}

void Monitor::push(const std::string& label, double value, uint32_t flags) {
  if (clock_.counts_time()) {
    if (const uint32_t reason = clock_.due(step_)) outbox_->post_tick(reason);
  }
  constexpr uint32_t training_loss = LOUPE_EVENT_LOSS | LOUPE_EVENT_TRAINING;
  // Which layer is to blame shows in the steps after: what happened to the model stays.
  if ((flags & training_loss) == training_loss && !std::isfinite(value)) schedule_.look_fully();
  if (!active()) return;
  const std::string shown = utf8(label);
  incidents_.pushed(shown, value, flags, step_);
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
  in_tick_ = false;  // also where a lens's exception ended the last tick
  timed_.deliver();
  if (timed_.has_whole_trace()) write_trace();
  if (counts) {
    ++steps_;
    ++step_;
    step_counted_ = true;
  }
  if (optimizer != nullptr && optimizer->id > newest_optimizer_) tell_optimizer(*optimizer);
  if (looks()) {
    const loupe_step step{
        .struct_size = sizeof(loupe_step), .at = moment(epoch_ + 1), .epochs = epochs_, .optimizer = optimizer};
    for (const auto& lens : lenses_) {
      if (!lens->wants_steps()) continue;
      lens->step(step);
      show_messages();
    }
  }
  if (optimizer != nullptr) incidents_.stepped(*optimizer, step_);
  show_messages();
  write_due_incident();
  if (keeper_) show_complete(keeper_->take_complete());
  show_progress();
}

/// What each model's first optimizer is set to, as it steps first, for tables of runs; and what takes its place.
void Monitor::tell_optimizer(const loupe_optimizer& optimizer) {
  newest_optimizer_ = optimizer.id;
  if (optimizer.group_count == 0) return;
  const bool is_first = optimized_models_.insert(optimizer.model).second;
  for (const loupe_optimizer* other : host_->optimizers()) {
    const bool is_beside = other->id != optimizer.id && std::strcmp(other->model, optimizer.model) == 0;
    if (!is_first && is_beside) return;
  }
  const std::string name = optimized_models_.size() == 1 ? "optimizer" : std::string(optimizer.model) + " optimizer";
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

/// A few times a second.
void Monitor::show_progress() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_progress_ < std::chrono::milliseconds(200) || !display_.wants_progress()) return;
  last_progress_ = now;
  folder_.claim();
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
  if (!std::exchange(step_counted_, false)) return;
  if (schedule_.end_step(seen)) {
    if (looks()) modules_.each([](ModuleNode& module) { module.forget_history(); });
    host_->looking_changed();
  }
  if (const std::string news = schedule_.take_news(); !news.empty()) {
    log(LOUPE_LOG_INFO, news);
    note(LOUPE_NOTE_COST, news);
  }
  timed_.stepped(step_, looks());
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
  step_ = steps;
  const uint64_t ticks = clock_.begin_after(steps);
  if (config_.tick.by == TickRule::By::steps) epoch_ = static_cast<double>(ticks);
}

void Monitor::tick(std::optional<double> epoch, uint32_t reason, uint32_t flags) {
  const std::lock_guard lock(*mutex_);
  if (is_over()) return;
  const bool is_first = tick_ == 1;
  tick_now(epoch, reason, flags);
  call_is_over();
  // The first tick makes statics of its own, in lenses by now and in visualizers later.
  if (is_first) AbnormalEnd::come_before_statics();
  if (is_first) display_.when_told(&AbnormalEnd::come_before_statics);
}

void Monitor::tick_now(std::optional<double> epoch, uint32_t reason, uint32_t flags) {
  const Exclusive::Call call(serial_, "tick", "the inspector");
  const CallCount count(calls_);
  epoch_ = epoch.value_or(epoch_ + 1);
  if (tick_ == 1) first_epoch_ = epoch_;
  timed_.deliver();
  if (active()) {
    in_tick_ = true;
    report(reason, flags);
    in_tick_ = false;
    modules_.each([](ModuleNode& module) { module.ticked(); });
  }
  modules_.remove_closed([this](const ModuleNode& module) {
    for (const auto& lens : lenses_) lens->forget(module);
  });
  judge_costs();
  steps_before_ = std::exchange(steps_, 0);
  clock_.ticked(step_);
  timed_.interrupt();
  schedule_.skip_time();
  outbox_->take_tick();
  epoch_start_ = std::chrono::steady_clock::now();
  ++tick_;
  last_words_.prepare(display_.record(), epoch_);
  if (life_ == Life::runs) begin_epoch();  // asks a function of the trainer's
}

/// Lenses report to the visualizers, and what they found is told.
void Monitor::report(uint32_t reason, uint32_t flags) {
  folder_.claim();
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
                        .optimizer_count = optimizers.size()};
  if (folder_.take_kept_older() && first_epoch_ > 1) {
    log(LOUPE_LOG_WARNING,
        "this run began with a later epoch than the first; if it goes on with the run before it, set 'resume: true' "
        "under run, and its files go on too");
  }
  if (keeper_) show_complete(keeper_->take_complete());
  display_.begin_tick(tick);
  std::vector<LensStates> states;
  for (const auto& lens : lenses_) {
    lens->report(tick, display_, keeper_ ? &states.emplace_back() : nullptr);
    show_messages();
  }
  judge_departures();
  show_messages();
  display_.end_tick();
  if (keeper_) {
    tell_fault();
    if (auto own = keeper_->add_tick(std::move(states), display_.take_held())) display_.show(std::move(own));
  }
  write_due_incident();
}

/// Where it cannot be written, nothing else of the run is lost.
void Monitor::write_trace() {
  folder_.claim();
  const std::filesystem::path file = std::filesystem::path(display_.run().directory) / "trace.json";
  try {
    timed_.trace()->write(file, config_.run_name);
    const uint64_t steps = timed_.trace()->steps();
    log(LOUPE_LOG_INFO, std::to_string(steps) + (steps == 1 ? " step is" : " steps are") + " traced in '" +
                            file.string() +
                            "': open it in https://ui.perfetto.dev, which keeps it on your machine, or in "
                            "chrome://tracing");
  } catch (const std::exception& reason) {
    log(LOUPE_LOG_WARNING, "the trace cannot be written to '" + file.string() + "': " + reason.what());
  }
  timed_.end_trace();
}

void Monitor::judge_costs() {
  const double now = steady_time(), wall = now - std::exchange(last_tick_, now);
  if (!active()) return;
  for (const auto& lens : lenses_) lens->judge_cost(wall);
}

}  // namespace loupe
