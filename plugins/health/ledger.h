#ifndef LOUPE_PLUGINS_HEALTH_LEDGER_H
#define LOUPE_PLUGINS_HEALTH_LEDGER_H

#include <loupe/report.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>

namespace loupe::health {

/// What one rule sees in one place.
struct Sight {
  const char* rule;
  uint32_t severity = LOUPE_SEVERITY_WARNING;
  const loupe_module* module = nullptr;
  std::string parameter = {};
  std::string message, advice;
  double value = NAN, threshold = NAN;
  const char* tag = "";  ///< the plot of a built-in lens that shows it
  bool at_tick = false;  ///< its rule looks at ticks alone
};

/// What has ended: of what is not seen in it, that says something.
struct Ended {
  bool tick = false;
  /// Whether a window of the module's model; of null, of any model.
  std::function<bool(const loupe_module* module)> window;
  /// Whether nothing could be seen of a finding, so that it stands.
  std::function<bool(const Finding& finding)> is_open;
};

/// Turns what rules see into findings: each is told once, when it was seen as long as its rule's patience says, again
/// when it grew worse, and when it is over. Calls come one at a time.
class Ledger {
 public:
  /// @param off  rules that do not speak  @param cooldown  windows without a sight, after which a finding is over; of
  /// rules that look at ticks alone, so many ticks
  Ledger(std::set<std::string> off, int patience, int cooldown)
      : off_(std::move(off)), patience_(patience), cooldown_(cooldown) {}

  bool is_off(const char* rule) const { return off_.count(rule) != 0; }
  /// A rule that is sure: told at once.
  void tell(Report& report, const Sight& sight);
  /// A rule that looks at windows: told once it was seen in `patience` of them in a row.
  void see(Report& report, const Sight& sight, int patience);
  void see(Report& report, const Sight& sight) { see(report, sight, patience_); }
  /// Ends a window, a tick or both: what was not seen for long enough is over.
  void end(Report& report, const Ended& ended);
  /// The module is detached.
  void forget(const loupe_module* module);

 private:
  struct Entry {
    Finding finding;
    int streak = 0, unseen = 0;
    bool seen = false, stands = false, is_worse = false, at_tick = false;
    uint64_t told_count = 0;
  };
  static bool grows(const Finding& told, const Sight& now);
  /// While a finding stands its count is told each time it has doubled.
  static bool is_due(const Entry& entry) { return entry.finding.count >= 2 * entry.told_count; }
  Entry& entry_of(const Sight& sight);
  void take(Entry& entry, const Sight& sight);
  void raise(Report& report, Entry& entry);

  std::set<std::string> off_;
  int patience_, cooldown_;
  std::deque<Entry> entries_;
};

}  // namespace loupe::health

#endif
