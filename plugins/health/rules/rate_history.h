#ifndef LOUPE_PLUGINS_HEALTH_RULES_RATE_HISTORY_H
#define LOUPE_PLUGINS_HEALTH_RULES_RATE_HISTORY_H

#include <loupe/abi.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

namespace loupe::health {

/// How each optimizer's groups were set so far.
struct RateHistory {
  struct Group {
    double largest = 0, last_nonzero = 0;
    double lowest = INFINITY;  ///< since it came down
    bool returned = false;     ///< it went up after having come down
    uint32_t zeros = 0;        ///< steps in a row
    void follow(double rate);
  };
  std::map<std::pair<uint64_t, std::size_t>, Group> groups;
  /// Steps went by unseen: single zeros before and after them are not in a row.
  void forget_streaks();
  /// Whether a rate comes down as schedules end: nothing is wrong with small steps then.
  bool is_annealed(const loupe_optimizer* optimizer) const;
  /// Whether any rate went up again after having come down, as in cycles and warm restarts.
  bool any_returned() const;
};

}  // namespace loupe::health

#endif
