#pragma once

#include <loupe/abi.h>
#include <loupe/draft/abi/tensor_math.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loupe::health {

/// The learning rates of each optimizer's groups so far.
struct RateHistory {
  struct Group {
    double largest = 0, last_nonzero = 0;
    double lowest = INFINITY;  ///< since it came down
    bool returned = false;     ///< it went up after having come down
    uint32_t zeros = 0;        ///< steps in a row
    double first = 0;          ///< not 0
    // The ticks before the last step with a rate near the largest, before the first with nearly none of it, and now.
    uint64_t high_at = 0, low_at = 0, now_at = 0;
    uint64_t all_steps = 0;
    uint64_t steps = 0, low_steps = 0;  ///< of this epoch; of the one in which it fell, up to then
    uint64_t high_steps = 0;            ///< in a row, far above the first rate and beyond what is plausible
    bool is_low = false;                ///< it has come down to next to nothing within one epoch
    void follow(double rate, uint64_t ticks);
  };
  std::map<std::pair<uint64_t, std::size_t>, Group> groups;
  /// What an optimizer's defaults were set to while the rates of its groups stayed as they are.
  struct Defaults {
    double first = 0, rate = 0;
    uint32_t changes = 0;
    std::vector<double> groups = {};
  };
  std::map<uint64_t, Defaults> defaults;                                          ///< by the optimizer
  std::optional<const loupe_draft_optimizer_defaults_service*> defaults_service;  ///< once it was asked for
  /// Whether an optimizer of several models is judged with this one.
  bool is_judged_with(const void* model, uint64_t optimizer) {
    return judged_with.try_emplace(optimizer, model).first->second == model;
  }
  std::map<uint64_t, const void*> judged_with;  ///< only to compare with
  /// After steps that nobody saw: single zeros before and after them are not in a row.
  void forget_streaks();
  /// Whether a rate has come down as at the end of a schedule, so that small steps are right.
  bool is_annealed(const loupe_optimizer* optimizer) const;
  /// "; the learning rate is 1e-09, and was 0.1": of the first group, for the end of a sentence. Empty if unknown.
  std::string text(const loupe_optimizer* optimizer) const;
  /// Whether any rate went up again after having come down, as in cycles and warm restarts.
  bool any_returned() const;
};

}  // namespace loupe::health
