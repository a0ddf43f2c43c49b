#pragma once

#include <loupe/detail/standing_finding.h>
#include <loupe/report.h>

#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <utility>

namespace loupe::health {

struct Rule;

/// An observation of one rule at one place; it becomes a finding if it is seen long enough.
struct Observation {
  const Rule* rule = nullptr;  ///< set by Judge
  uint32_t severity = 0;       ///< 0: that of its rule
  const loupe_module* module = nullptr;
  std::string parameter = {};
  std::string message = {}, advice = {};
  double value = NAN, threshold = NAN;
  const char* tag = "";        ///< "": that of its rule
  uint64_t place = 0;          ///< position of its layer in the order of runs, from 1; 0 if unknown
  bool at_tick = false;        ///< its rule is applied at ticks; set by Judge
  uint64_t since = 0;          ///< the number of ticks before it was first seen; set by Ledger
  bool may_recede = false;     ///< it may prove harmless: its severity may fall, and its end is reported as info
  const char* caused_by = "";  ///< the rule of the finding that caused it
  bool is_explained = false;   ///< a finding of another rule caused it, so it is only info
};

/// The end of windows, of a tick or of both. A finding that was not seen meanwhile gets closer to its end.
struct StretchEnd {
  bool tick = false;
  /// Whether a window of the module's model ended; for null, of any model.
  std::function<bool(const loupe_module* module)> window;
  /// Whether the rule could not look, so the finding stays open.
  std::function<bool(const Finding& finding)> is_open;
};

/// Turns observations into findings. Each is reported when it has been seen for its rule's patience, again when it
/// grows worse, and when it is resolved. If another finding can have caused it (Rule::brings_about), it is only info
/// while that finding is open. Calls come one at a time.
class Ledger {
 public:
  /// @param off  disabled rules  @param cooldown  windows without an observation after which a finding is resolved; for
  /// rules that are applied only at ticks, ticks
  Ledger(std::set<std::string> off, int patience, int cooldown)
      : off_(std::move(off)), patience_(patience), cooldown_(cooldown) {}

  bool is_off(const char* rule) const { return off_.count(rule) != 0; }
  /// Reports at once, for certain rules.
  void tell(Report& report, Observation seen) { see(report, std::move(seen), 0); }
  /// Reports once this was seen in `patience` windows in a row, for rules about windows.
  void see(Report& report, Observation seen) { see(report, std::move(seen), patience_); }
  /// Resolves findings that were not seen for long enough.
  void end(Report& report, const StretchEnd& ended);
  /// The module is detached.
  void forget(const loupe_module* module);

 private:
  struct Entry {
    detail::StandingFinding standing;
    Observation last;
  };
  void see(Report& report, Observation seen, int patience);
  Entry& entry_of(const Observation& seen);
  /// Explains it by an open finding that can be its cause.
  void explain(Observation& seen) const;
  /// Explains open findings by `cause` if it can be theirs.
  void explain_by(Report& report, const Entry& cause);

  std::set<std::string> off_;
  int patience_, cooldown_;
  uint64_t ticks_ = 0;
  std::deque<Entry> entries_;
};

}  // namespace loupe::health
