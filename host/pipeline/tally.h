#ifndef LOUPE_PIPELINE_TALLY_H
#define LOUPE_PIPELINE_TALLY_H

#include <loupe/abi.h>

#include <mutex>

/// What the ABI calls a tally. Any thread.
struct loupe_tally {
 public:
  /// Of an event that was measured on the processor; see abi.h.
  /// @param compares  the source asks for the change
  static bool is_usual(const loupe_event& event, const loupe_measurement& measured, bool compares) {
    return measured.nan_count == 0 && measured.inf_count == 0 && (!compares || measured.has_change != 0) &&
           (event.flags & LOUPE_EVENT_NOT_CLEARED) == 0;
  }
  void add(const loupe_source& source, const loupe_measurement& measured);
  /// What came since the last call.
  loupe_tally_sums take();

 private:
  std::mutex mutex_;
  loupe_tally_sums sums_{};
};

#endif
