#pragma once

// Private to the host and the plugins that are built with it: the host adds up usual events of sources, which costs
// next to nothing. Not installed, and may change at any time: the id holds this build's, so that a plugin of another
// build is answered null.

#include <loupe/lens.h>

#ifndef LOUPE_BUILD_ID
#error "link loupe_internal, which names the build"
#endif
#define LOUPE_INTERNAL_TALLY_ID "loupe.tally/build-" LOUPE_BUILD_ID

/// Adds up usual events of the sources that share it. An event is usual if all of this holds: it is measured, in the
/// CPU's memory; it holds neither NaN nor Inf; it is compared with the event before, where its source asks for the
/// change; it lacks LOUPE_DRAFT_EVENT_NOT_CLEARED; and at LOUPE_TAP_FORWARD it has LOUPE_EVENT_TRAINING and
/// LOUPE_EVENT_GRAD_ENABLED.
struct loupe_tally;

struct loupe_tally_sums {
  uint64_t events;
  uint64_t nonzero_events;      ///< with an element other than 0
  uint64_t changed_events;      ///< with a change other than 0
  double sum_squares;           ///< of all elements of all these events
  double largest_sum_squares;   ///< of one event
  const loupe_source* largest;  ///< the source of that event; null without events
  double last_sum_squares;      ///< of the last event
  const loupe_source* last;     ///< the source of that one; null without events
};

/// The extension LOUPE_INTERNAL_TALLY_ID of a loupe_wiring, whose `context` is each function's first argument.
struct loupe_internal_tally {
  /// While the lens is attaching, visiting, stepping or reporting. The tally lives as long as the lens.
  loupe_status (*make)(void* context, loupe_tally** tally, loupe_error* error);
  /// At the same times: from the next event on, usual events of the source are added to the tally and not processed.
  /// With null, all of them are processed again. They are measured either way.
  loupe_status (*use)(void* context, loupe_source* source, loupe_tally* tally, loupe_error* error);
  /// What came since the last call. Any thread, also while an event is processed.
  loupe_status (*take)(void* context, loupe_tally* tally, loupe_tally_sums* sums, loupe_error* error);
};

namespace loupe::internal {

/// See loupe_tally. A small value; good as long as its lens.
class Tally {
 public:
  using Sums = loupe_tally_sums;
  Tally() = default;
  Tally(const loupe_wiring* wiring, const loupe_internal_tally* table, loupe_tally* tally)
      : wiring_(wiring), table_(table), tally_(tally) {}

  /// False where the host is of another build.
  explicit operator bool() const { return tally_ != nullptr; }
  /// What came since the last call. Any thread, also while an event is processed.
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

/// Null where the host is of another build.
inline const loupe_internal_tally* tally_table(const loupe_wiring& wiring) {
  return static_cast<const loupe_internal_tally*>(wiring.get_extension(wiring.context, LOUPE_INTERNAL_TALLY_ID));
}

/// A tally for sources of this lens to share. Not from forget().
inline Tally make_tally(const Lens& lens) {
  const loupe_wiring& wiring = *lens.wiring();
  const loupe_internal_tally* table = tally_table(wiring);
  if (table == nullptr) return {};
  detail::ErrorBuffer error;
  loupe_tally* tally = nullptr;
  error.check(table->make(wiring.context, &tally, error.get()));
  return {&wiring, table, tally};
}

/// From the next event on, usual events are added to the tally and not processed; with an empty tally, all events are
/// processed again. Not from forget().
inline void use(const Source& source, const Tally& tally) {
  const loupe_wiring& wiring = *source.wiring();
  const loupe_internal_tally* table = tally_table(wiring);
  if (table == nullptr) return;
  detail::ErrorBuffer error;
  error.check(table->use(wiring.context, source.raw(), tally.raw(), error.get()));
}

}  // namespace loupe::internal
