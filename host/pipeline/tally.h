#ifndef LOUPE_PIPELINE_TALLY_H
#define LOUPE_PIPELINE_TALLY_H

#include <loupe/abi.h>

#include <atomic>
#include <thread>

/// What the ABI calls a tally. Any thread.
struct loupe_tally {
 public:
  /// Of an event that was measured on the processor; see abi.h.
  /// @param compares  the source asks for the change
  static bool is_usual(const loupe_event& event, const loupe_measurement& measured, bool compares) {
    constexpr uint32_t of_training = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED;
    const uint32_t asked = event.tap == LOUPE_TAP_FORWARD ? of_training : 0;
    return measured.nan_count == 0 && measured.inf_count == 0 && (!compares || measured.has_change != 0) &&
           (event.flags & (asked | LOUPE_EVENT_NOT_CLEARED)) == asked;
  }
  void add(const loupe_source& source, const loupe_measurement& measured);
  /// What came since the last call.
  loupe_tally_sums take();

 private:
  /// Held for a few additions, thousands of times a second: a mutex would take longer than what it guards.
  class Lock {
   public:
    void lock() {
      while (taken_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    }
    void unlock() { taken_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool> taken_{false};
  };

  Lock lock_;
  loupe_tally_sums sums_{};
};

#endif
