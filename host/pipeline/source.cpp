#include "pipeline/source.h"
#include <loupe/event.h>

#include <mutex>
#include <utility>

void loupe_tally::add(const loupe_source& source, const loupe_measurement& measured) {
  const std::lock_guard lock(lock_);
  ++sums_.events;
  sums_.nonzero_events += measured.sum_squares > 0 ? 1 : 0;
  sums_.changed_events += loupe::has_change(measured) && measured.change_sum_squares > 0 ? 1 : 0;
  sums_.sum_squares += measured.sum_squares;
  sums_.last_sum_squares = measured.sum_squares;
  sums_.last = &source;
  if (sums_.largest != nullptr && measured.sum_squares <= sums_.largest_sum_squares) return;
  sums_.largest_sum_squares = measured.sum_squares;
  sums_.largest = &source;
}

loupe_tally_sums loupe_tally::take() {
  const std::lock_guard lock(lock_);
  return std::exchange(sums_, {});
}
