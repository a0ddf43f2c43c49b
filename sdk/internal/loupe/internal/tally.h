#pragma once

// Private to the host and the plugins of the same build: the host adds up usual events of sources, which costs next to
// nothing. Not installed, and may change at any time: the id contains the id of the build, so that a plugin of another
// build gets null.

#include <loupe/lens.h>

#ifndef LOUPE_BUILD_ID
#error "link loupe_internal, which names the build"
#endif
#define LOUPE_INTERNAL_TALLY_ID "loupe.tally/build-" LOUPE_BUILD_ID

/// Adds up usual events of the sources that share it. An event is usual if all of the following is true: it is
/// measured, in the CPU's memory; it contains neither NaN nor Inf; it is compared with the previous event if its source
/// asks for the change; it lacks LOUPE_DRAFT_EVENT_NOT_CLEARED; and at LOUPE_TAP_FORWARD it has LOUPE_EVENT_TRAINING
/// and LOUPE_EVENT_GRAD_ENABLED.
struct loupe_tally;

struct loupe_tally_sums {
  uint64_t events;
  uint64_t nonzero_events;      ///< events with an element other than 0
  uint64_t changed_events;      ///< events with a change other than 0
  double sum_squares;           ///< over all elements of all these events
  double largest_sum_squares;   ///< the largest one of a single event
  const loupe_source* largest;  ///< the source of that event; null if there were no events
  double last_sum_squares;      ///< the one of the last event
  const loupe_source* last;     ///< the source of that event; null if there were no events
};

/// The extension LOUPE_INTERNAL_TALLY_ID of a loupe_wiring; the wiring's `context` is the first argument of each
/// function.
struct loupe_internal_tally {
  /// Call this while the lens attaches, visits, steps or reports. The tally lives as long as the lens.
  loupe_status (*make)(void* context, loupe_tally** tally, loupe_error* error);
  /// Call this at the same times: from the next event on, usual events of the source are added to the tally and not
  /// processed. With null, all of them are processed again. The host measures them in both cases.
  loupe_status (*use)(void* context, loupe_source* source, loupe_tally* tally, loupe_error* error);
  /// Returns the sums since the last call. Any thread, also while an event is processed.
  loupe_status (*take)(void* context, loupe_tally* tally, loupe_tally_sums* sums, loupe_error* error);
};

namespace loupe::internal {

/// See loupe_tally. A small value, valid as long as its lens.
class Tally {
 public:
  using Sums = loupe_tally_sums;
  Tally() = default;
  Tally(const loupe_wiring* wiring, const loupe_internal_tally* table, loupe_tally* tally)
      : wiring_(wiring), table_(table), tally_(tally) {}

  /// False if the host is of another build.
  explicit operator bool() const { return tally_ != nullptr; }
  /// The sums since the last call. Any thread, also while an event is processed.
  Sums take() const {
    detail::ErrorBuffer error;
    Sums sums{};
    if (tally_ != nullptr) error.check(table_->take(wiring_->context, tally_, &sums, error.get()));
    return sums;
  }
  loupe_tally* raw() const { return tally_; }

 private:
  const loupe_wiring* wiring_ = nullptr;
  const loupe_internal_tally* table_ = nullptr;
  loupe_tally* tally_ = nullptr;
};

/// Null if the host is of another build.
inline const loupe_internal_tally* tally_table(const loupe_wiring& wiring) {
  return static_cast<const loupe_internal_tally*>(wiring.get_extension(wiring.context, LOUPE_INTERNAL_TALLY_ID));
}

/// Makes a tally that sources of this lens can share. Do not call this in forget().
inline Tally make_tally(const Lens& lens) {
  const loupe_wiring& wiring = *lens.wiring();
  const loupe_internal_tally* table = tally_table(wiring);
  if (table == nullptr) return {};
  detail::ErrorBuffer error;
  loupe_tally* tally = nullptr;
  error.check(table->make(wiring.context, &tally, error.get()));
  return {&wiring, table, tally};
}

/// From the next event on, adds usual events to the tally and does not process them; with an empty tally, processes all
/// events again. Do not call this in forget().
inline void use(const Source& source, const Tally& tally) {
  const loupe_wiring& wiring = *source.wiring();
  const loupe_internal_tally* table = tally_table(wiring);
  if (table == nullptr) return;
  detail::ErrorBuffer error;
  error.check(table->use(wiring.context, source.raw(), tally.raw(), error.get()));
}

}  // namespace loupe::internal
