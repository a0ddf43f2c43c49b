#pragma once

#include <loupe/abi.h>
#include <loupe/finding.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "findings/baseline.h"

namespace loupe {

/// Compares a run with a baseline, tick by tick, while it takes place or from its record. Tells the first series that
/// has left what the good runs were between for longer than the patience, and when it is back. Calls come one at a
/// time.
class BaselineWatch {
 public:
  static constexpr const char* rule = "departs_from_baseline";

  /// @param patience  ticks in a row outside that are no departure yet
  BaselineWatch(Baseline baseline, int patience) : baseline_(std::move(baseline)), patience_(patience) {}

  /// A value of the tick that is on.
  void add(const std::string& tag, const std::string& layer, const std::string& line, double value);
  /// The tick is over: what there is to tell.
  std::vector<Finding> end_tick(double epoch);
  /// A sentence on layers that the baseline lacks, once; empty where there is nothing new to say.
  std::string take_lacking();
  /// Whether the run has layers, and the baseline none of them: it is of another model, which end_tick() tells too.
  bool is_of_another_model() const { return other_model_; }

 private:
  struct Departure {
    int outside = 0;  ///< ticks in a row
    double since = 0;
  };
  struct Told {
    Baseline::Key key;
    double value;
  };
  Finding departed(const Told& told, const Departure& departure, const Baseline::Span& span, std::size_t others,
                   double epoch) const;
  std::vector<Finding> compare(double epoch);
  Finding another_model(double epoch) const;

  Baseline baseline_;
  int patience_;
  std::vector<Told> told_;  // in this tick
  std::map<Baseline::Key, Departure> departures_;
  std::set<std::string> layers_, lacking_, told_lacking_;
  bool compared_ = false, other_model_ = false;
  std::vector<Finding> standing_;  // at most one
  Baseline::Key standing_key_;
  int inside_ = 0;  // ticks in a row that what stands is back
};

}  // namespace loupe
