#ifndef LOUPE_PIPELINE_BUDGET_H
#define LOUPE_PIPELINE_BUDGET_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loupe {

/// Chooses how often to look, so that looking takes no more than a share of the time: from how long the steps take that
/// are looked at, and how long those that are not. One clock read a step is all that it needs. Has no clock of its own.
///
/// Where one lens takes most of it, that lens is set apart: it looks at one pair of some of those that are looked at,
/// so that it takes no more than all else together. What it takes is what the steps take less that it does not look at.
/// That leaves out what other lenses need as well, whoever is charged for it.
class Budget {
 public:
  /// What a lens was charged for in the steps that were looked at: who to suspect.
  struct Charge {
    std::string_view lens;
    double seconds;
  };
  using Charges = std::function<std::vector<Charge>()>;
  /// A step that is on: nobody looks, or all do, or all but the lens that is set apart.
  enum class Looked { no, all, without_one };

  /// @param share  of a step's own time, 0.01 for 1 %
  /// @param charges  of each lens, in the same order at every call; without, none is ever set apart
  /// @param fewest  look at one step in so many at most, so that there always are steps to compare with
  explicit Budget(double share, Charges charges = {}, uint64_t fewest = 2);

  /// Look at one step in so many. At first at one in four, or fewer.
  uint64_t every() const { return choice_.every; }
  /// The lens that is set apart, by its place among the charges.
  std::optional<std::size_t> apart() const { return suspect_ ? suspect_ : choice_.apart; }
  /// It looks at one pair of so many of those that are looked at; 0: at none, to see what looking takes without it.
  uint64_t multiple() const { return suspect_ ? 0 : choice_.multiple; }
  /// A step is over that took so long. Returns whether there is something new to tell the user.
  bool step(double seconds, Looked looked);
  /// What is left of the pair that is on is not counted: something else took its time, or steps were not seen.
  void interrupt() { in_pair_ = 0; }
  /// The lens that is set apart is gone.
  void lose_apart();

  /// What a step takes that is not looked at, and what looking adds to one, in seconds; 0 before it is known.
  double step_seconds() const { return step_seconds_; }
  double added_seconds() const { return added_seconds_; }
  /// What looking adds where the lens that is set apart does not; 0 before it is known.
  double rest_seconds() const { return rest_seconds_; }
  /// The share of all the time that looking takes with the present choice.
  double used_share() const;
  /// What to tell the user of the present choice, in a sentence.
  std::string words() const;
  /// "one step in 20, with the lens 'x' at one in 400"
  std::string frequency() const;

 private:
  struct Choice {
    uint64_t every, multiple = 1;
    std::optional<std::size_t> apart = {};
    bool operator==(const Choice& other) const {
      return every == other.every && multiple == other.multiple && apart == other.apart;
    }
  };

  bool choose();
  bool try_another();
  void forget_rest();
  /// Seconds of each step that looking may take.
  double allowed() const;
  uint64_t wanted_every(double seconds) const;
  uint64_t held_over_windows(uint64_t every) const;
  /// What the lens that is set apart, or tried, takes of its own for each second that all else takes.
  double own_share() const;
  bool is_tried_out() const;
  /// The lens that is worth setting apart, or still is.
  std::optional<std::size_t> apart_wanted() const;
  Choice wanted(std::optional<std::size_t> apart) const;
  bool keeps_to(const Choice& wanted) const;

  double share_;
  Charges charges_;
  uint64_t fewest_;
  Choice choice_;
  std::string lens_;                    // the name of the suspect, or of the one that is set apart
  std::optional<std::size_t> suspect_;  // is being tried
  std::vector<std::size_t> tried_;      // lately, and not set apart
  uint64_t pairs_since_trial_ = 0;
  double tried_at_seconds_ = 0;  // that looking added
  uint64_t pairs_to_wait_ = 0;
  uint64_t steps_ = 0, pairs_since_change_ = 0;
  // Steps count by pairs of adjacent ones: a loop that does more at every second step is no different when it is looked
  // at.
  double pair_seconds_ = 0;
  int in_pair_ = 0;
  Looked pair_looked_ = Looked::no;
  std::deque<double> unlooked_, added_, rest_;  // seconds a step, of the last pairs
  double step_seconds_ = 0, added_seconds_ = 0, rest_seconds_ = 0;
};

}  // namespace loupe

#endif
