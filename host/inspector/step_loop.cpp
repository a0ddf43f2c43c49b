#include "inspector/step_loop.h"

#include <optional>
#include <stdexcept>
#include <string>

#include "core/log.h"

namespace loupe {

void StepLoop::begin(std::int64_t first, std::int64_t last) {
  calls_.note_calling_thread();
  const Config& config = monitor_.config();
  if (first < 1 || last < first - 1)
    throw std::invalid_argument("loupe: steps() counts from 1 on, not from " + std::to_string(first) + " to " +
                                std::to_string(last));
  if (first > 1 && monitor_.step() == 0 && !config.resume && !config.visualizers.empty())
    log(LOUPE_LOG_WARNING, "the steps begin at " + std::to_string(first) +
                               ", as those of a resumed run do, but the record of the steps before is not continued; "
                               "set run.resume: true if this was intended");
  if (!due_.come_by_themselves())
    log(LOUPE_LOG_WARNING,
        "the trainer loops over steps, and the configuration does not say when to tick, so that all is shown at the "
        "loop's end; set run: {tick: {steps: 500}} or {seconds: 30}, or call tick_epoch() in the loop");
  const auto before = static_cast<std::uint64_t>(first - 1);
  if (monitor_.step() != before) monitor_.begin_after(before);
  const std::uint64_t stretch = config.tick.steps;
  if (config.tick.by == TickRule::By::steps)
    monitor_.set_epochs(static_cast<double>((static_cast<std::uint64_t>(last) + stretch - 1) / stretch));
}

void StepLoop::end_turn() {
  calls_.note_calling_thread();
  if (!attachments_.any_has_optimizer()) {
    monitor_.note_step();
    monitor_.end_step();
  }
  due_.tick_if_due();
}

void StepLoop::end() {
  if (due_.come_by_themselves()) {
    due_.tick_rest();
  } else {
    epochs_.tick(std::nullopt);
  }
}

}  // namespace loupe
