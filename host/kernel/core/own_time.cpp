#include "core/own_time.h"

#include <cstddef>
#include <utility>

#include "core/clock.h"

namespace loupe {
namespace {

std::atomic<double> own_seconds[3];
thread_local constinit OwnTime::Of counted_as = OwnTime::Of::none;
thread_local constinit double counted_since = 0;

/// From now on the thread's time counts as `next`. Returns the former counter.
OwnTime::Of count_as(OwnTime::Of next) {
  const double now = steady_time();
  if (counted_as != OwnTime::Of::none) OwnTime::add(counted_as, now - counted_since);
  counted_since = now;
  return std::exchange(counted_as, next);
}

}  // namespace

std::atomic<int> OwnTime::wanted_{0};

OwnTime::OwnTime(Of of) : counts_((of == Of::reports || is_wanted()) && counted_as != of && counted_as != Of::reports) {
  if (counts_) outer_ = count_as(of);
}
OwnTime::~OwnTime() {
  if (counts_) count_as(outer_);
}

void OwnTime::add(Of of, double seconds) {
  own_seconds[static_cast<std::size_t>(of)].fetch_add(seconds, std::memory_order_relaxed);
}

double OwnTime::spent(Of of) {
  if (counted_as == of) count_as(of);
  return own_seconds[static_cast<std::size_t>(of)].load(std::memory_order_relaxed);
}

}  // namespace loupe
