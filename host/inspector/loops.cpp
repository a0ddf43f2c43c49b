#include "inspector/loops.h"

#include <loupe/internal/bounds.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/log.h"
#include "core/text.h"

namespace loupe {

void Loops::choose_clock() {
  const std::string& name = monitor_.config().tick.of;
  const Attachments::List& all = attachments_.all();
  auto chosen = std::find_if(all.begin(), all.end(), [&](const auto& each) {
    return name.empty() ? each->has_optimizer() : each->name() == name;
  });
  if (chosen == all.end() && name.empty()) chosen = all.begin();
  if (chosen == all.end())
    chosen = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each->shown_name() == name; });
  for (auto each = all.begin(); each != all.end(); ++each) (*each)->set_clock(each == chosen);
  clock_is_missing_ = chosen == all.end() && !all.empty();
  if (chosen == all.end()) return;
  clock_was_there_ = true;
  has_warned_ = false;
}

void Loops::warn_if_clock_is_missing() {
  if (!clock_is_missing_ || std::exchange(has_warned_, true)) return;
  std::vector<std::string> names;
  for (const auto& each : attachments_.all()) names.push_back(each->shown_name());
  const std::string& name = monitor_.config().tick.of;
  const std::string what = clock_was_there_
                               ? "', which is detached: from now on no step counts and there are no automatic "
                                 "ticks; name another model, or call tick_epoch()"
                               : "', but no attached model has this name, so no step counts and there are no "
                                 "automatic ticks until one does" +
                                     suggestion(name, names);
  log(LOUPE_LOG_WARNING, "run.tick.of names '" + name + what);
}

void Loops::tick_if_due() {
  warn_if_clock_is_missing();
  monitor_.tick_if_due();
}

void Loops::tick_rest() {
  if (!clock_was_there_) warn_if_clock_is_missing();  // a trainer may have detached its models at the end of a run
  monitor_.tick_rest();
}

void Loops::begin_epochs(int first, int last) {
  const Config& config = monitor_.config();
  if (first > 1 && monitor_.epoch() == 0 && !config.resume && !config.visualizers.empty())
    log(LOUPE_LOG_WARNING, "the epochs begin at " + std::to_string(first) +
                               ", as in a resumed run, but the record of earlier epochs is not continued; "
                               "set run.resume: true if this was intended");
  note_calling_thread();
  if (ticks_come_by_themselves()) {
    log(LOUPE_LOG_WARNING,
        "the trainer loops over epochs, but the configuration ticks every " + config.tick.words() +
            " (run.tick): only these ticks count, and each interval between two of them is shown as an "
            "epoch; without run.tick, the trainer's epochs tick");
  } else {
    monitor_.begin_epochs_at(first);
    monitor_.set_epochs(last);
  }
  outer_.push_back(position_);
  position_ = {};
  begin_next_epoch(first);
}

void Loops::tick(std::optional<double> epoch, std::uint32_t reason, std::uint32_t flags) {
  if (epoch && !(std::fabs(*epoch) <= largest_count))
    throw std::invalid_argument("loupe: tick_epoch takes an epoch number, not " + std::to_string(*epoch));
  monitor_.outbox()->rethrow();
  note_calling_thread();
  if (!epoch && position_.epoch && !position_.has_ticked && !ticks_come_by_themselves()) epoch = position_.epoch;
  monitor_.tick(epoch, reason, flags);
  position_.any_ticked = true;
  if (position_.epoch && monitor_.epoch() == *position_.epoch) position_.has_ticked = true;
}

void Loops::end_epoch(int epoch) {
  note_calling_thread();
  if (ticks_come_by_themselves()) {
    tick_if_due();
  } else if (position_.epoch != epoch || !position_.has_ticked) {
    tick(epoch);
  }
}

void Loops::end_epochs() {
  tick_rest();
  position_.epoch.reset();
  position_.has_ticked = false;
}

void Loops::leave_epochs() {
  if (outer_.empty()) return;
  const bool ticked = position_.any_ticked;
  position_ = outer_.back();
  outer_.pop_back();
  position_.has_ticked = position_.has_ticked || (position_.epoch && ticked);
  position_.any_ticked = position_.any_ticked || ticked;
}

void Loops::begin_steps(std::int64_t first, std::int64_t last) {
  note_calling_thread();
  const Config& config = monitor_.config();
  if (first < 1 || last < first - 1)
    throw std::invalid_argument("loupe: steps() counts from 1 on, not from " + std::to_string(first) + " to " +
                                std::to_string(last));
  if (first > 1 && monitor_.step() == 0 && !config.resume && !config.visualizers.empty())
    log(LOUPE_LOG_WARNING, "the steps begin at " + std::to_string(first) +
                               ", as in a resumed run, but the record of earlier steps is not continued; "
                               "set run.resume: true if this was intended");
  if (!ticks_come_by_themselves())
    log(LOUPE_LOG_WARNING,
        "the trainer loops over steps, but the configuration has no run.tick, so everything is shown only at the "
        "loop's end; set run: {tick: {steps: 500}} or {seconds: 30}, or call tick_epoch() in the loop");
  const auto before = static_cast<std::uint64_t>(first - 1);
  if (monitor_.step() != before) monitor_.begin_after(before);
  const std::uint64_t stretch = config.tick.steps;
  if (config.tick.by == TickRule::By::steps)
    monitor_.set_epochs(static_cast<double>((static_cast<std::uint64_t>(last) + stretch - 1) / stretch));
}

void Loops::end_step() {
  note_calling_thread();
  if (!attachments_.any_has_optimizer()) {
    monitor_.note_step();
    monitor_.end_step();
  }
  tick_if_due();
}

void Loops::end_steps() {
  if (ticks_come_by_themselves()) {
    tick_rest();
  } else {
    tick(std::nullopt);
  }
}

}  // namespace loupe
