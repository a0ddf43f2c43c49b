#include "show/shown_visualizer.h"

#include <loupe/error.h>
#include <loupe/text/number_text.h>

#include <mutex>
#include <variant>

#include "core/clock.h"
#include "core/log.h"

namespace loupe {
namespace {

constexpr double late_seconds = 5;

}  // namespace

ShownVisualizer::ShownVisualizer(const ComponentConfig& config, ComponentContext* around, Run run, Standing standing)
    : ComponentContext(around),
      name_(config.name),
      runs_{std::move(run)},
      c_run_(&runs_[0]->get()),
      standing_(std::move(standing)) {
  node_.emplace(name_, config.entry, config.options->get(), this);
  wants_progress_ = node_->offers(&loupe_visualizer::progress);
  stores_ = node_->offers_history();
}

void ShownVisualizer::set_run(Run run, const Standing* again) {
  c_run_ = &runs_.emplace_back(std::move(run))->get();
  if (again == nullptr) return;
  standing_ = *again;
  told_ = 0;
  begun_ = false;
}

template <class Call>
void ShownVisualizer::guarded_call(Call&& call) {
  detail::ErrorBuffer error;
  if (call(*node_, error.get()) == LOUPE_OK) return;
  const bool is_known = failed_ > 0;
  if (!std::exchange(skip_, true) || !is_known) ++failed_;
  if (is_known) return;
  const std::string fault = "the visualizer '" + name_ + "' failed: " + error.text();
  {
    const std::lock_guard lock(mutex_);
    fault_ = fault;
  }
  log(LOUPE_LOG_ERROR, fault + "; training continues, and the next tick tries again");
}

void ShownVisualizer::warn_if_late() {
  const double posted = posted_.load(std::memory_order_relaxed);
  if (posted == 0 || steady_time() - posted < late_seconds || is_late_.exchange(true)) return;
  log(LOUPE_LOG_WARNING, "the visualizer '" + name_ + "' is more than " + number_text(late_seconds) +
                             " s behind, and training waits once " + std::to_string(HeldTick::most_waiting) +
                             " ticks are queued; let it write to a faster place (path, run.dir), or "
                             "show less: lenses with 'active: 10' or fewer modules by include");
}

template <class... Arguments>
void ShownVisualizer::tell(Arguments&&... arguments) {
  if (skip_) return;
  guarded_call([&](VisualizerNode& node, loupe_error* error) { return node.tell(arguments..., error); });
}

void ShownVisualizer::keep(const std::string& key, const Standing::Tell& tell) {
  standing_.keep(key, tell);
  tell_standing();
}

void ShownVisualizer::begin() {
  if (begun_ || skip_) return;
  tell(&loupe_visualizer::begin, runs_.back()->get());
  begun_ = !skip_;
}

void ShownVisualizer::begin_again() {
  skip_ = false;
  begin();
}

void ShownVisualizer::tell_past(Past& past, ShownVisualizer& to, double before) {
  past.tell(*to.node_, stores_ ? &*node_ : nullptr, runs_.back()->get().directory, before);
}

/// Messages that the visualizer failed to take are repeated at the next tick.
void ShownVisualizer::tell_standing() {
  for (std::uint64_t place = told_; begun_ && !skip_;) {
    const Standing::Tell* const next = standing_.after(place);
    if (next == nullptr) return;
    guarded_call(*next);
    if (!skip_) told_ = place;
  }
}

std::optional<loupe_moment> ShownVisualizer::last_before(double before) {
  loupe_moment last{};
  if (!node_ || node_->last(runs_.back()->get().directory, before, last) != LOUPE_OK) return std::nullopt;
  return last;
}

void ShownVisualizer::finding(const std::string& key, const Standing::Tell& tell) {
  begin();  // a finding must not wait for the first tick, which may be hours away
  keep(key, tell);
}

void ShownVisualizer::show(const HeldTick& tick) {
  begin_again();
  tell_standing();
  tell(&loupe_visualizer::begin_tick, tick.tick());
  for (const HeldTick::Told& told : tick.told()) {
    if (auto* const* row = std::get_if<loupe_row*>(&told)) {
      tell(&loupe_visualizer::row, **row);
    } else if (auto* const* histogram = std::get_if<loupe_histogram*>(&told)) {
      tell(&loupe_visualizer::histogram, **histogram);
    } else {
      std::get<HeldTick::Call>(told)(*this);
    }
  }
  tell(&loupe_visualizer::end_tick);
  const std::size_t failed = skip_ ? 0 : std::exchange(failed_, 0);
  if (failed == 0) return;
  log(LOUPE_LOG_INFO, "the visualizer '" + name_ + "' works again, after " + std::to_string(failed) +
                          (failed == 1 ? " tick" : " ticks") + " in which it failed");
}

void ShownVisualizer::note(const loupe_note& note) {
  begin();
  tell(&loupe_visualizer::note, note);
}

void ShownVisualizer::progress(const loupe_progress& progress) {
  begin();
  tell(&loupe_visualizer::progress, progress);
}

void ShownVisualizer::flush() {
  set_posted(0);  // it may take any time
  if (!begun_) return;
  guarded_call([&](VisualizerNode& node, loupe_error* error) { return node.tell(&loupe_visualizer::flush, error); });
}

void ShownVisualizer::end(const loupe_ending& ending) {
  set_posted(0);
  if (begun_) {
    // Call it even after a failure: there is no next try.
    detail::ErrorBuffer flushed, ended;
    const bool is_flushed = node_->tell(&loupe_visualizer::flush, flushed.get()) == LOUPE_OK;
    const bool is_ended = node_->tell(&loupe_visualizer::end, ending, ended.get()) == LOUPE_OK;
    if (!is_flushed || !is_ended)
      log(LOUPE_LOG_ERROR,
          "the visualizer '" + name_ + "' failed at the end: " + (is_ended ? flushed.text() : ended.text()));
  } else if (failed_ > 0) {
    log(LOUPE_LOG_ERROR, "the visualizer '" + name_ + "' could not begin, so it shows nothing of this run (see above)");
  }
  node_.reset();
}

std::string ShownVisualizer::take_fault() {
  const std::lock_guard lock(mutex_);
  return std::exchange(fault_, {});
}

}  // namespace loupe
