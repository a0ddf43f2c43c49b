#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "run/program_section.h"

namespace loupe {

/// Finds where a program begins its samples again: a batch whose rows were all seen in this epoch follows batches of
/// new rows. Rows that are drawn at random recur slowly, and show no epoch.
class RecurringRows {
 public:
  /// Takes the hashed rows of the next step's batch. True if the samples begin again with it.
  bool take(const std::vector<std::uint64_t>& rows);
  /// Whether further batches may show an epoch.
  bool looks() const { return looks_; }
  /// Whether it has reported an epoch that later batches disproved.
  bool has_erred() const { return !looks_ && epoch_ > 0; }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> epochs_;  // for each row, the epoch that had it last
  std::vector<std::uint64_t> last_;
  std::uint32_t epoch_ = 0;
  std::size_t batches_ = 0;  // number of batches in this epoch
  bool looks_ = true;
};

/// Decides where epochs end in a program that does not declare them. One thread at a time.
class EpochClock {
 public:
  /// Events that often mark the end of an epoch, but may come at other times.
  enum class Hint {
    validation,  ///< a loss was computed without gradients
    schedule,    ///< a scheduler of learning rates stepped
    rows,        ///< the samples of this epoch come again
  };

  explicit EpochClock(const RunProgramSection& section) : kind_(section.epoch), length_(section.epoch_length) {
    ticked();
  }

  /// Call it after a step of an optimizer, which is only compared. True if an epoch ends with the step: each of several
  /// optimizers has taken the steps of an epoch, or one of them twice as many.
  bool stepped(const void* optimizer);
  /// Call it when a step begins: before an optimizer clears gradients, before a backward pass or before a step,
  /// whichever comes first. True if an epoch has ended.
  bool step_begins();
  /// Call it before a backward pass, after `step_begins`. True if an epoch has ended although nothing steps: such a
  /// program must be shown, too.
  bool went_backward();
  /// Called before a training model is switched. True if an epoch has ended.
  bool mode_set(bool trains);
  /// Call it before an order of samples, which is only compared, begins again: that of a data loader, or one that the
  /// program shuffles itself. True if an epoch has ended.
  bool order_begins(const void* order, bool is_loader);
  /// An optimizer was created to replace another: it continues that one's steps.
  void succeed(const void* former, const void* optimizer);
  void hint(Hint hint);
  /// The hints were not epochs: counts steps until the next hint.
  void forget_hints() { follows_hints_ = false; }
  /// Call it when an epoch has ended.
  void ticked();
  /// Whether a step was taken in this epoch, or a backward pass if the program has not stepped yet.
  bool has_passes() const { return steps_ > 0 || (!ever_stepped_ && backwards_ > 0); }
  /// Whether models train, as far as train() and eval() show it.
  bool trains() const { return trains_; }
  /// Whether epochs end where the program's own do, rather than after a number of steps.
  bool knows_epochs() const { return knows_ends_ || follows_hints_ || kind_ != RunProgramSection::Epoch::automatic; }
  /// Whether the rows of batches are of use: nothing that the program does shows its epochs for certain.
  bool wants_rows() const { return is_automatic() && !knows_ends_; }
  /// Whether an epoch is a number of steps or seconds, so that the last one may be broken off.
  bool counts() const { return kind_ == RunProgramSection::Epoch::steps || kind_ == RunProgramSection::Epoch::seconds; }
  /// The reason LOUPE_TICK_ of the epoch that has just ended. Call it before `ticked`.
  std::uint32_t reason() const;
  /// Whether it guesses where epochs end.
  bool is_automatic() const { return kind_ == RunProgramSection::Epoch::automatic; }
  /// Describes for the user how epochs end.
  std::string description() const;
  /// The same in a few words.
  std::string short_description() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Order {
    const void* address;
    std::uint64_t began_at;       // the number of passes when it began
    bool after_one_step = false;  // it began again, with a single step between
    bool is_of_step = false;      // it begins again with each step, or in each
  };
  const void* latest_order() const;
  std::uint64_t most_steps() const;

  RunProgramSection::Epoch kind_;
  double length_;
  bool trains_ = true, switches_ = false;  // train() or eval() was ever called
  bool evaluated_ = false;                 // eval() was called since the last call of train()
  bool validated_ = false;                 // a loss was computed without gradients since the last call of train()
  bool too_often_ = false;                 // the modes change with every step
  bool knows_ends_ = false;                // an epoch ended by the modes, or where an order began again
  bool follows_hints_ = false;             // an epoch ended by a hint
  std::uint32_t due_ = 0;                  // the epoch ends at the next step, for this reason
  std::uint32_t reason_;                   // why the last automatic epoch ended
  bool is_due_by_hint_ = false;
  std::vector<Order> orders_;            // orders, by the time of their last start
  const void* feeding_order_ = nullptr;  // the one that began again before the last step
  std::unordered_map<const void*, std::uint64_t> counts_;
  bool ever_stepped_ = false;
  std::uint64_t backwards_ = 0;      // backward passes since the last tick
  std::uint64_t steps_ = 0;          // steps of the optimizer that took the most
  std::uint64_t passes_ = 0;         // passes since the program began: steps, and backward passes before the first step
  std::uint64_t switched_at_ = 0;    // the number of passes at the last call of train()
  std::uint64_t hinted_at_[3] = {};  // the number of passes at the last hint of each kind
  Clock::time_point begin_ = Clock::now();
};

}  // namespace loupe
