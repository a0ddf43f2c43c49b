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
    double lowest = INFINITY;  ///< the lowest rate since it fell
    bool returned = false;     ///< it rose after having fallen
    uint32_t zeros = 0;        ///< steps in a row with rate 0
    double first = 0;          ///< the first rate that is not 0
    // The number of ticks before the last step near the largest rate, before the first step with nearly none of it, and
    // now.
    uint64_t high_at = 0, low_at = 0, now_at = 0;
    uint64_t all_steps = 0;
    uint64_t steps = 0, low_steps = 0;  ///< steps of this epoch; steps of the epoch in which it fell, until then
    uint64_t high_steps = 0;            ///< steps in a row at an implausible rate far above the first
    bool is_low = false;                ///< it has fallen to nearly 0 within one epoch
    void follow(double rate, uint64_t ticks);
  };
  std::map<std::pair<uint64_t, std::size_t>, Group> groups;
  /// The rates in an optimizer's defaults while the rates of its groups did not change.
  struct Defaults {
    double first = 0, rate = 0;
    uint32_t changes = 0;
    std::vector<double> groups = {};
  };
  std::map<uint64_t, Defaults> defaults;                                          ///< by the optimizer's id
  std::optional<const loupe_draft_optimizer_defaults_service*> defaults_service;  ///< empty until it was requested
  /// Whether an optimizer of several models is judged with this one.
  bool is_judged_with(const void* model, uint64_t optimizer) {
    return judged_with.try_emplace(optimizer, model).first->second == model;
  }
  std::map<uint64_t, const void*> judged_with;  ///< pointers only for comparison
  /// Call it after unobserved steps: zeros before and after them are not in a row.
  void forget_streaks();
  /// Whether a rate has fallen as at the end of a schedule, so small steps are right.
  bool is_annealed(const loupe_optimizer* optimizer) const;
  /// "; the learning rate is 1e-09, and was 0.1": of the first group, for the end of a sentence. Empty if unknown.
  std::string text(const loupe_optimizer* optimizer) const;
  /// Whether any rate rose again after falling, as in cycles and warm restarts.
  bool any_returned() const;
};

}  // namespace loupe::health
