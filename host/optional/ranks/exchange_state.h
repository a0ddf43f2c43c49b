#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/locks.h"
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
  std::unique_ptr<HeldTick> own;  ///< set if this process shows the run; under the mutex
  const std::chrono::steady_clock::time_point added = std::chrono::steady_clock::now();
};

/// State shared by the trainer's threads and the exchange's.
struct Exchange::Shared {
  using Clock = std::chrono::steady_clock;
  explicit Shared(ExchangeSettings given) : settings(std::move(given)) {}

  /// How long the end of a run waits for a thread that makes no progress although the system lets it run.
  static constexpr std::chrono::milliseconds patience_at_end{400};
  /// The most ticks kept for the others if they cannot be sent.
  static constexpr std::size_t most_ticks = 512;

  const ExchangeSettings settings;
  LeafMutex mutex;
  std::condition_variable_any changed;
  // Input of the thread, under the mutex.
  std::deque<ModuleDescription> modules;
  std::deque<std::shared_ptr<PendingTick>> ticks;
  std::deque<std::string> incidents;
  std::string fault;  ///< a fault that is not yet reported with a tick
  uint64_t next_tick = 0;
  bool ending = false, finished = false;
  bool left = false;  // the thread must call neither a lens nor the log any more
  // Output of the thread, under the mutex.
  int thread = 0;  // the number of the thread, once it runs
  bool ended = false;
  bool is_lost = false;  // it takes no ticks any more
  bool speaks = false;   // it calls lenses, or the log
  Clock::time_point progress{};
  TickKeeper::Complete complete;
  std::atomic<bool> has_complete{false};
  // Ticks that the thread has not completed in time are shown without it.
  std::atomic<Clock::rep> first_limit{std::numeric_limits<Clock::rep>::max()};
  bool shows_alone = false;  // a tick was shown without the thread since it completed its last; under the mutex

  /// The deadline of the thread for a tick of rank 0.
  Clock::time_point limit_of(const PendingTick& tick) const {
    return tick.added + settings.timeout + std::chrono::seconds(1);
  }
  /// Call it under the mutex, after each change of the ticks.
  void ticks_changed() {
    const auto first = std::find_if(ticks.begin(), ticks.end(), [](const auto& each) { return each->own != nullptr; });
    first_limit =
        first != ticks.end() ? limit_of(**first).time_since_epoch().count() : std::numeric_limits<Clock::rep>::max();
  }

  void warn(const std::string& text) {
    const std::lock_guard lock(mutex);
    complete.log.emplace_back(LOUPE_LOG_WARNING, text);
    has_complete = true;
  }
};

/// Thrown in the thread once the end of the process no longer waits for it.
struct LeftBehind {};

/// While one lives, the end of the process waits for this thread, which calls lenses or the log.
class Speaking {
 public:
  explicit Speaking(Exchange::Shared& shared) : shared_(shared) {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.left) throw LeftBehind();
    shared_.speaks = true;
  }
  ~Speaking() {
    const std::lock_guard lock(shared_.mutex);
    shared_.speaks = false;
    shared_.progress = Exchange::Shared::Clock::now();
    shared_.changed.notify_all();
  }
  Speaking(const Speaking&) = delete;
  Speaking& operator=(const Speaking&) = delete;

 private:
  Exchange::Shared& shared_;
};

/// The body of the exchange's thread. Throws nothing.
void run_exchange(const std::shared_ptr<Exchange::Shared>& shared, std::unique_ptr<MergedLenses> lenses);

}  // namespace loupe
