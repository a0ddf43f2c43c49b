#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace loupe {

/// Finds where a program begins its samples anew: a batch whose rows this epoch has all had follows batches of rows
/// that it had not. Rows that are drawn at random come again by and by, and never tell.
class RecurringRows {
 public:
  /// The rows of the next step's batch, as hashes. True where the samples begin anew with it.
  bool take(const std::vector<std::uint64_t>& rows);
  /// Whether further batches may tell.
  bool looks() const { return looks_; }
  /// Whether it has reported an epoch that later batches showed to be none.
  bool has_erred() const { return !looks_ && epoch_ > 0; }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> epochs_;  // for each row, the epoch that had it last
  std::vector<std::uint64_t> last_;
  std::uint32_t epoch_ = 0;
  std::size_t batches_ = 0;  // of this epoch
  bool looks_ = true;
};

}  // namespace loupe
