// How a monitor ends: with its trainer, by an exception, or with a process that ends under it.

#include <chrono>
#include <exception>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/lock_soon.h"
#include "core/log.h"
#include "pipeline/monitor.h"

namespace loupe {
namespace {

void tell_failure(std::string_view what, const std::exception& reason) noexcept {
  try {
    log(LOUPE_LOG_ERROR, std::string(what) + reason.what());
  } catch (const std::exception&) {  // there is no memory left to tell it with
  }
}

}  // namespace

Monitor::~Monitor() {
  end_lenses();
  if (life_ == Life::ended) return;
  try {
    if (timed_.trace() != nullptr) tell_short_trace();
    show_messages();
    if (folder_.is_claimed()) folder_.claim();
    display_.end(ending(is_early() ? LOUPE_END_INTERRUPTED : LOUPE_END_COMPLETED, nullptr));
  } catch (const std::exception& e) {
    tell_failure("the end of the run cannot be told: ", e);
  }
}

void Monitor::end_lenses() {
  if (abnormal_end_) AbnormalEnd::act_on_signal();
  abnormal_end_.reset();
  modules_.each([](ModuleNode& module) { module.close(); });
  try {
    if (life_ == Life::runs && has_lenses_) modules_.warn_of_unticked();
    has_lenses_ = false;  // what gathers for them refers to them
    lenses_.clear();
    if (life_ != Life::runs) return;
    finish_ticks();
    show_messages();
  } catch (const std::exception& e) {
    tell_failure("what lenses had still to say cannot be told: ", e);
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
    if (timed_.trace() != nullptr) tell_short_trace();
    show_messages();
  } catch (const std::exception& e) {
    tell_failure("the last steps of the run cannot be shown: ", e);
  }
  if (folder_.is_claimed()) folder_.claim();
  if (display_.end(ending(how, message))) last_words_.take_back();
  life_ = Life::ended;
} catch (const std::exception& e) {
  tell_failure("the end of the run cannot be told: ", e);
}

/// The run was shorter than was asked for.
void Monitor::tell_short_trace() {
  if (timed_.trace()->steps() > 0) return write_trace();
  log(LOUPE_LOG_WARNING, "no step is traced, because the run ended before " + std::to_string(TimedSteps::first) +
                             " steps of an optimizer were over, and the first two are not like the others");
}

/// Whether the run is in the midst of an epoch. A test set that is looked at behind the last one begins none.
bool Monitor::is_open() const {
  return clock_.has_steps_since_tick(step_) || (step_ == 0 && modules_.unticked() > 0);
}

/// After each step and tick, when nothing of this monitor's is at work.
void Monitor::call_is_over() {
  if (calls_ > 0 || life_ != Life::runs) return;
  const bool is_new = !abnormal_end_ && (writes_incidents() || !display_.is_empty());
  if (is_new) abnormal_end_ = std::make_unique<AbnormalEnd>([this](const ProcessEnd& end) { process_ends(end); });
  if (is_new) AbnormalEnd::come_before_statics();
  // Before that, what lies there is an earlier run's.
  if (folder_.is_claimed() && !last_words_.is_prepared()) last_words_.prepare(display_.record(), epoch_);
  last_words_.set_step(step_);
  AbnormalEnd::act_on_signal();
}

void Monitor::process_ends(const ProcessEnd& end) {
  const bool exits = end.how == "exit";
  // A tick of another thread is given the time to end, as what it works on is about to be written.
  const auto lock = lock_soon(*mutex_, std::chrono::seconds(1));
  if (!exits && life_ == Life::runs && writes_incidents()) write_incident({end.how, end.why});
  if (!lock || calls_ > 0) {  // its last words have to do, behind what was told before
    JobThread::all_done(std::chrono::seconds(3));
    return;
  }
  if (!end.is_final) {
    if (folder_.is_claimed()) folder_.claim();
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
