#include "show/visualizers.h"

#include <loupe/error.h>
#include <loupe/visualizers/model_json.h>

#include <array>
#include <charconv>
#include <mutex>

#include "core/log.h"
#include "record/record_line.h"

namespace loupe {

void Visualizers::replace(std::vector<VisualizerNode> made, ResumedHistory history) {
  std::vector<Shown> shown;
  shown.reserve(made.size());
  for (VisualizerNode& node : made) shown.push_back({std::move(node)});
  shown_ = std::move(shown);
  history_ = std::move(history);
}

void Visualizers::set_run(Run run, bool is_elsewhere) {
  earlier_runs_.push_back(std::exchange(run_, std::move(run)));
  c_run_ = &run_->get();
  is_resumed_ = (run_->get().flags & LOUPE_RUN_RESUMED) != 0;
  if (!is_elsewhere) return;
  for (Shown& shown : shown_) {
    shown.begun = false;
    shown.told = 0;
  }
}

template <class Call>
double Visualizers::guarded_call(Shown& shown, Call&& call, double start) {
  detail::ErrorBuffer error;
  const loupe_status status = call(shown.node, error.get());
  const double end = steady_time();
  judge_time(shown, end - start);
  if (status == LOUPE_OK) return end;
  shown.skip = true;
  if (std::exchange(shown.failing, true)) return end;
  const std::string fault = "the visualizer '" + shown.node.name() + "' failed: " + error.text();
  {
    const std::lock_guard lock(mutex_);
    fault_ = fault;
  }
  log(LOUPE_LOG_ERROR, fault + "; training goes on, and it is tried again at the next tick");
  return steady_time();
}

void Visualizers::judge_time(Shown& shown, double seconds) {
  constexpr double too_long = 5;
  if (seconds <= too_long || std::exchange(shown.told_slow, true)) return;
  std::array<char, 32> figure{};
  std::to_chars(figure.data(), figure.data() + figure.size() - 1, seconds, std::chars_format::fixed, 1);
  log(LOUPE_LOG_WARNING, "the visualizer '" + shown.node.name() + "' took " + figure.data() +
                             " s for one call, and training waits where ticks come faster than they are shown; give "
                             "it a faster place to write to (path, run.dir), or show less: lenses with 'active: 10' "
                             "or fewer modules by include");
}

template <class... Arguments>
void Visualizers::each(Arguments&&... arguments) {
  if (shown_.empty()) return;
  double time = steady_time();
  for (Shown& shown : shown_) {
    if (shown.skip) continue;
    time = guarded_call(
        shown, [&](VisualizerNode& node, loupe_error* error) { return node.tell(arguments..., error); }, time);
  }
}

void Visualizers::keep(std::string key, Tell tell) {
  const auto known = place_of_.find(key);
  if (known != place_of_.end()) {
    standing_[known->second].tell = nullptr;
    if (++replaced_ > standing_.size() / 2 + 8) drop_replaced();
  }
  place_of_[key] = standing_.size();
  standing_.push_back({std::move(key), std::move(tell)});
  for (Shown& shown : shown_) tell_standing(shown);
}

void Visualizers::drop_replaced() {
  std::vector<Standing> kept;
  std::vector<std::size_t> before;  // of each place, how many are kept before it
  for (Standing& each : standing_) {
    before.push_back(kept.size());
    if (!each.tell) continue;
    place_of_[each.key] = kept.size();
    kept.push_back(std::move(each));
  }
  before.push_back(kept.size());
  for (Shown& shown : shown_) shown.told = before[shown.told];
  standing_ = std::move(kept);
  replaced_ = 0;
}

void Visualizers::begin(Shown& shown, double before) {
  guarded_call(shown, [&](VisualizerNode& node, loupe_error* error) {
    return node.tell(&loupe_visualizer::begin, run_->get(), error);
  });
  shown.begun = !shown.skip;
  if (shown.begun && is_resumed_) history_.tell(shown.node, run_->get().directory, before);
}

void Visualizers::begin_all() {
  for (Shown& shown : shown_) {
    if (!shown.begun && !shown.skip) begin(shown);
  }
}

/// What a visualizer failed to take comes again at the next tick.
void Visualizers::tell_standing(Shown& shown) {
  while (shown.begun && !shown.skip && shown.told < standing_.size()) {
    if (const Tell& tell = standing_[shown.told].tell) guarded_call(shown, tell);
    if (!shown.skip) ++shown.told;
  }
}

void Visualizers::model(const loupe_model& model) {
  if (is_resumed_ && !compared_) models_[model.name] = replay::parse_model_line(model_json(model));
}

void Visualizers::finding(std::string key, Tell tell) {
  begin_all();  // what is wrong is not to wait for the first tick, which may be hours away
  keep(std::move(key), std::move(tell));
}

void Visualizers::show(const HeldTick& tick) {
  // By now the models are known, and the record is still the earlier run's alone.
  if (is_resumed_ && !std::exchange(compared_, true))
    history_.warn_of_differences(run_->get().directory, run_->get().config, models_);
  for (Shown& shown : shown_) {
    shown.skip = false;
    if (!shown.begun) begin(shown, tick.tick().at.epoch);
    tell_standing(shown);
  }
  each(&loupe_visualizer::begin_tick, tick.tick());
  for (const HeldTick::Told& told : tick.told()) {
    if (auto* const* row = std::get_if<loupe_row*>(&told)) {
      each(&loupe_visualizer::row, **row);
    } else if (auto* const* histogram = std::get_if<loupe_histogram*>(&told)) {
      each(&loupe_visualizer::histogram, **histogram);
    } else {
      std::get<HeldTick::Call>(told)(*this);
    }
  }
  each(&loupe_visualizer::end_tick);
  for (Shown& shown : shown_) {
    if (!shown.skip && std::exchange(shown.failing, false))
      log(LOUPE_LOG_INFO, "the visualizer '" + shown.node.name() + "' works again");
  }
}

void Visualizers::note(const loupe_note& note) {
  begin_all();
  each(&loupe_visualizer::note, note);
}

void Visualizers::progress(const loupe_progress& progress) {
  begin_all();
  each(&loupe_visualizer::progress, progress);
}

void Visualizers::flush() {
  for (Shown& shown : shown_) {
    if (!shown.begun) continue;
    const bool told_slow = std::exchange(shown.told_slow, true);  // a flush is there to wait
    guarded_call(shown,
                 [&](VisualizerNode& node, loupe_error* error) { return node.tell(&loupe_visualizer::flush, error); });
    shown.told_slow = told_slow;
  }
}

void Visualizers::end(const loupe_ending& ending) {
  for (Shown& shown : shown_) {
    if (!shown.begun) continue;
    // Told even where a failure has been: there is no next try.
    detail::ErrorBuffer flushed, ended;
    const bool is_flushed = shown.node.tell(&loupe_visualizer::flush, flushed.get()) == LOUPE_OK;
    const bool is_ended = shown.node.tell(&loupe_visualizer::end, ending, ended.get()) == LOUPE_OK;
    if (is_flushed && is_ended) continue;
    log(LOUPE_LOG_ERROR, "the visualizer '" + shown.node.name() +
                             "' failed at the end: " + (is_flushed ? ended.text() : flushed.text()));
  }
  shown_.clear();
}

bool Visualizers::lend(const loupe_module& module, const std::string& name, bool gradient, const Take& take) {
  return around_ != nullptr && around_->lend(module, name, gradient, take);
}

std::optional<uint32_t> Visualizers::parameter_flags(const loupe_module& module, std::size_t index) {
  return around_ != nullptr ? around_->parameter_flags(module, index) : std::nullopt;
}

std::string Visualizers::take_fault() {
  const std::lock_guard lock(mutex_);
  return std::exchange(fault_, {});
}

std::shared_ptr<HeldTick> Visualizers::take_spare() {
  const std::lock_guard lock(mutex_);
  return std::exchange(spare_, nullptr);
}

void Visualizers::give_spare(std::shared_ptr<HeldTick> shown) {
  const std::lock_guard lock(mutex_);
  spare_ = std::move(shown);
}

}  // namespace loupe
