#include "run/recurring_rows.h"

namespace loupe {

bool RecurringRows::take(const std::vector<std::uint64_t>& rows) {
  // A few rows, or a few batches, may well be what a rollout or a buffer has at the moment.
  constexpr std::size_t fewest_rows = 4, fewest_batches = 4, most_rows = 65536;
  if (!looks_ || rows.size() < fewest_rows) return false;
  const bool is_repeated = rows == last_;  // several passes over one batch are no epochs
  last_ = rows;
  std::size_t first_time = 0, again = 0;
  for (const std::uint64_t row : rows) {
    const auto [known, is_new] = epochs_.try_emplace(row, epoch_);
    first_time += is_new ? 1 : 0;
    again += !is_new && known->second == epoch_ ? 1 : 0;
    known->second = epoch_;
  }
  const auto tenth = [&](std::size_t count) { return 10 * count <= rows.size(); };
  const bool begins = tenth(rows.size() - again) && batches_ >= fewest_batches;
  // Once all have been there, further ones are those of another rollout, or of a stream.
  const bool all_are_known = epoch_ == 0 || tenth(first_time);
  looks_ = !is_repeated && (begins || tenth(again)) && all_are_known && epochs_.size() <= most_rows;
  if (!looks_) {
    epochs_ = {};
    return false;
  }
  ++batches_;
  if (!begins) return false;
  ++epoch_;
  batches_ = 1;
  for (const std::uint64_t row : rows) epochs_[row] = epoch_;
  return true;
}

}  // namespace loupe
