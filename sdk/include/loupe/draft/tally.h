#ifndef LOUPE_DRAFT_TALLY_H
#define LOUPE_DRAFT_TALLY_H

// A draft: it may change or go without notice. Sources that do without events for a while, or only add them up.

#include <loupe/draft/abi/tally.h>
#include <loupe/lens.h>

namespace loupe {
inline namespace v1_0 {
namespace draft {

/// Adds up usual events; see loupe_tally. A small value; good as long as its lens.
class Tally {
 public:
  using Sums = loupe_tally_sums;
  Tally() = default;
  Tally(const loupe_wiring* wiring, const loupe_draft_tally* table, loupe_tally* tally)
      : wiring_(wiring), table_(table), tally_(tally) {}

  /// False where the host does not offer this draft.
  explicit operator bool() const { return tally_ != nullptr; }
  /// What came since the last call. Any thread, also while an event is processed.
  Sums take() const {
    detail::ErrorBuffer error;
    Sums sums{};
    sums.struct_size = sizeof sums;
    if (tally_ != nullptr) error.check(table_->take(wiring_->context, tally_, &sums, error.get()));
    return sums;
  }
  loupe_tally* raw() const { return tally_; }

 private:
  const loupe_wiring* wiring_ = nullptr;
  const loupe_draft_tally* table_ = nullptr;
  loupe_tally* tally_ = nullptr;
};

/// Null where the host does not offer this draft.
inline const loupe_draft_tally* tally_table(const loupe_wiring& wiring) {
  return static_cast<const loupe_draft_tally*>(wiring.get_extension(wiring.context, LOUPE_DRAFT_TALLY_ID));
}

/// A tally for sources of this lens to share. Not from forget().
inline Tally make_tally(const Lens& lens) {
  const loupe_wiring& wiring = *lens.wiring();
  const loupe_draft_tally* table = tally_table(wiring);
  if (table == nullptr) return {};
  detail::ErrorBuffer error;
  loupe_tally* tally = nullptr;
  error.check(table->make(wiring.context, &tally, error.get()));
  return {&wiring, table, tally};
}

/// From the next event on, the source does without `what`, LOUPE_REST_ bits. With 0 it gets everything again, and
/// starts anew with comparing what nobody measured meanwhile. Not from forget(). Does nothing where the
/// host does not offer this draft.
inline void rest(const Source& source, uint32_t what) {
  const loupe_wiring& wiring = *source.wiring();
  const loupe_draft_tally* table = tally_table(wiring);
  if (table == nullptr) return;
  detail::ErrorBuffer error;
  error.check(table->rest(wiring.context, source.raw(), what, error.get()));
}

/// From the next event on, usual events are added to the tally and not processed; with an empty tally, all events are
/// processed again. Not from forget().
inline void use(const Source& source, const Tally& tally) {
  const loupe_wiring& wiring = *source.wiring();
  const loupe_draft_tally* table = tally_table(wiring);
  if (table == nullptr) return;
  detail::ErrorBuffer error;
  error.check(table->use(wiring.context, source.raw(), tally.raw(), error.get()));
}

}  // namespace draft
}  // namespace v1_0
}  // namespace loupe

#endif
