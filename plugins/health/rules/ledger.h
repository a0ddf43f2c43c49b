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

/// What one rule sees in one place: a finding, if it is seen long enough.
struct Observation {
  const Rule* rule = nullptr;  ///< set by Judge
  uint32_t severity = 0;       ///< 0: its rule's
  const loupe_module* module = nullptr;
  std::string parameter = {};
  std::string message = {}, advice = {};
  double value = NAN, threshold = NAN;
  const char* tag = "";        ///< "": its rule's
  uint64_t place = 0;          ///< of its layer in the order in which layers run, from 1; 0 where that is unknown
  bool at_tick = false;        ///< its rule looks at ticks; set by Judge
  uint64_t since = 0;          ///< the ticks before it was first seen; set by Ledger
  bool may_recede = false;     ///< it may turn out to be harmless: its severity may fall, and it ends as information
  const char* caused_by = "";  ///< the rule of the finding from which it follows
  bool is_explained = false;   ///< it follows from a finding of another rule, and is only information
};

/// What ends: windows, a tick or both. What was not seen meanwhile counts towards its end.
struct StretchEnd {
  bool tick = false;
  /// Whether a window of the module's model ended; for null, of any model.
  std::function<bool(const loupe_module* module)> window;
  /// Whether the rule could not look, so that the finding stands.
  std::function<bool(const Finding& finding)> is_open;
};

/// Turns observations into findings. Each is reported when it has been seen for as long as its rule's patience says,
/// again when it grows worse, and when it is over. One that another finding can have brought about, as
/// Rule::brings_about says, is information while that finding stands. Calls come one at a time.
class Ledger {
 public:
  /// @param off  rules that are silent  @param cooldown  windows without an observation after which a finding is over;
  /// ticks, for rules that look at ticks only
  Ledger(std::set<std::string> off, int patience, int cooldown)
      : off_(std::move(off)), patience_(patience), cooldown_(cooldown) {}

  bool is_off(const char* rule) const { return off_.count(rule) != 0; }
  /// For rules that are sure: reports at once.
  void tell(Report& report, Observation seen) { see(report, std::move(seen), 0); }
  /// For rules that look at windows: reports once it was seen in `patience` of them in a row.
  void see(Report& report, Observation seen) { see(report, std::move(seen), patience_); }
  /// What was not seen for long enough is over.
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
  /// Makes it follow from a finding that stands, where that can be its cause.
  void explain(Observation& seen) const;
  /// Makes what already stands follow from `cause`, where it can.
  void explain_by(Report& report, const Entry& cause);

  std::set<std::string> off_;
  int patience_, cooldown_;
  uint64_t ticks_ = 0;
  std::deque<Entry> entries_;
};

}  // namespace loupe::health
