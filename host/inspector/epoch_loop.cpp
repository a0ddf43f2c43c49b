#include "inspector/epoch_loop.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "core/log.h"
#include "core/number_limits.h"

namespace loupe {

void EpochLoop::begin(int first, int last) {
  const Config& config = monitor_.config();
  if (first > 1 && monitor_.epoch() == 0 && !config.resume && !config.visualizers.empty())
    log(LOUPE_LOG_WARNING, "the epochs begin at " + std::to_string(first) +
                               ", as those of a resumed run do, but the record of the epochs before is not continued; "
                               "set run.resume: true if this was intended");
  calls_.note_calling_thread();
  if (due_.come_by_themselves()) {
    log(LOUPE_LOG_WARNING, "the trainer loops over epochs, and the configuration says to tick every " +
                               config.tick.words() +
                               " (run.tick): ticks come by that alone, and what is shown as an epoch is the stretch "
                               "between two of them; without run.tick they come with the trainer's epochs");
  } else {
    monitor_.begin_epochs_at(first);
    monitor_.set_epochs(last);
  }
  around_.push_back(turn_);
  turn_ = {};
  begin_next(first);
}

void EpochLoop::tick(std::optional<double> epoch) {
  if (epoch && !(std::fabs(*epoch) <= largest_count))
    throw std::invalid_argument("loupe: tick_epoch takes the epoch's number, not " + std::to_string(*epoch));
  monitor_.outbox()->rethrow();
  calls_.note_calling_thread();
  if (!epoch && turn_.epoch && !turn_.has_ticked && !due_.come_by_themselves()) epoch = turn_.epoch;
  monitor_.tick(epoch);
  turn_.any_ticked = true;
  if (turn_.epoch && monitor_.epoch() == *turn_.epoch) turn_.has_ticked = true;
}

void EpochLoop::end_epoch(int epoch) {
  calls_.note_calling_thread();
  if (due_.come_by_themselves()) {
    due_.tick_if_due();
  } else if (turn_.epoch != epoch || !turn_.has_ticked) {
    tick(epoch);
  }
}

void EpochLoop::end() {
  due_.tick_rest();
  turn_.epoch.reset();
  turn_.has_ticked = false;
}

void EpochLoop::leave() {
  if (around_.empty()) return;
  const bool ticked = turn_.any_ticked;
  turn_ = around_.back();
  around_.pop_back();
  turn_.has_ticked = turn_.has_ticked || (turn_.epoch && ticked);
  turn_.any_ticked = turn_.any_ticked || ticked;
}

}  // namespace loupe
