#ifndef LOUPE_RANKS_EXCHANGE_STATE_H
#define LOUPE_RANKS_EXCHANGE_STATE_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/lock_order.h"
#include "ranks/exchange.h"
#include "ranks/rank_message.h"

namespace loupe {

/// A tick of this process that waits to be sent or merged.
struct PendingTick {
  PendingTick(uint64_t number_, const loupe_tick& tick_) : number(number_), tick(tick_) {}

  const uint64_t number;
  const detail::Owned<loupe_tick> tick;
  std::vector<LensStates> states;
  ExtremesByLine extremes;
  std::string fault;
  std::unique_ptr<HeldTick> own;  ///< where this process shows the run; under the mutex
  const std::chrono::steady_clock::time_point added = std::chrono::steady_clock::now();
};

/// What the trainer's threads and the exchange's share.
struct Exchange::Shared {
  explicit Shared(ExchangeSettings given) : settings(std::move(given)) {}

  const ExchangeSettings settings;
  LeafMutex mutex;
  std::condition_variable_any changed;
  // To the thread, under the mutex.
  std::deque<ModuleDescription> modules;
  std::deque<std::shared_ptr<PendingTick>> ticks;
  std::deque<std::string> incidents;
  std::string fault;  ///< that no tick has told yet
  uint64_t next_tick = 0;
  bool ending = false, ended = false, left = false;
  bool is_lost = false;  // there is no thread any more that takes ticks
  // From the thread, under the mutex.
  TickKeeper::Complete complete;
  std::atomic<bool> has_complete{false};

  void warn(const std::string& text) {
    const std::lock_guard lock(mutex);
    complete.log.emplace_back(LOUPE_LOG_WARNING, text);
    has_complete = true;
  }
};

/// The body of the exchange's thread. Throws nothing.
void run_exchange(const std::shared_ptr<Exchange::Shared>& shared, std::unique_ptr<MergedLenses> lenses);

}  // namespace loupe

#endif
