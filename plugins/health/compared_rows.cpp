// Compares the rows of the training with those of the validation.

#include <algorithm>

#include "health/rules/elements.h"
#include "health/watches.h"

namespace loupe::health {

/// Collects training rows until nearly all are known, about from the second epoch on.
void OutputWatch::compare_rows(const Event& event) {
  SharedRows& known = model_.shared_rows;
  const bool trains = event.training() && event.grad_enabled();
  if (event.input_count() == 0 || (trains && known.is_complete) || (!trains && event.grad_enabled())) return;
  const Elements input(event.input(0).raw());
  if (!HashedRows::fits(input)) return;
  const HashedRows rows(input);
  int64_t compared = 0, shared = 0;
  for (int64_t row = 0; row < rows.rows(); ++row) {
    const uint64_t quick = rows.quick(row);
    if (quick == 0 || !known.training.is_among(quick)) continue;
    const auto whole = [&] { return rows.whole(row); };
    ++compared;
    shared += (trains ? known.training.take(quick, whole) : known.training.has(quick, whole)) ? 1 : 0;
  }
  if (!trains) return known.take_batch(input.size(0), compared, shared);
  known.trained += compared;
  known.known += shared;
  if (model_.ticks > 0) return;
  known.first_seen += compared;
  known.first_again += shared;
}

}  // namespace loupe::health
