// Which rows are in the training and in the validation.

#include <algorithm>
#include <cmath>

#include "health/rules/elements.h"
#include "health/watches.h"

namespace loupe::health {
namespace {

/// Some rows of an input by their hashes: a quick one of a few elements, and one of more where that decides.
class HashedRows {
 public:
  explicit HashedRows(const Elements& input)
      : input_(input), columns_(input.count() / input.size(0)), rows_(std::min(most_rows, input.size(0))) {}

  static bool fits(const Elements& input) {
    constexpr int64_t fewest_columns = 8;
    return input.readable() && input.floating() && input.dim() >= 2 && input.size(0) > 1 &&
           input.count() / input.size(0) >= fewest_columns;
  }
  int64_t rows() const { return rows_; }
  /// 0 for a row of whole numbers, which may come again.
  uint64_t quick(int64_t row) const {
    bool is_discrete = true;
    const uint64_t hash = hash_of(row, few, [&](int64_t place) {
      const double value = input_.at(place);
      is_discrete = is_discrete && value == std::floor(value);
    });
    return is_discrete ? 0 : std::max<uint64_t>(hash, 1);
  }
  uint64_t whole(int64_t row) const {
    return hash_of(row, many, [](int64_t) {});
  }

 private:
  static constexpr int64_t most_rows = 256, few = 8, many = 256;

  template <class See>
  uint64_t hash_of(int64_t row, int64_t most, See&& see) const {
    const int64_t count = std::min(columns_, most);
    uint64_t hash = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = row * columns_ + (count == columns_ ? i : scattered_place(i, count, columns_));
      see(place);
      hash = (hash ^ input_.bits(place)) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    }
    // The order of the hashes decides which rows are kept.
    hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93;
    return hash ^ hash >> 32;
  }

  const Elements& input_;
  int64_t columns_, rows_;
};

}  // namespace

/// In training until nearly all rows are known, as from the second epoch on.
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
