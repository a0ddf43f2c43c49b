#pragma once

#include <loupe/abi.h>
#include <loupe/finding.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace loupe::health {

/// The range of each series in good runs, by phase of training.
class Baseline {
 public:
  using Key = std::tuple<std::string, std::string, std::string>;  ///< tag, layer, line
  struct Span {
    double low, high;  ///< the ends with the margin; NaN for no values
  };
  /// The values of one run, by series and epoch.
  using Run = std::map<Key, std::map<double, double>>;

  /// Computes the envelope of these runs, widened more if there are fewer. Ignores values that are not finite.
  /// @param shares  the tags whose values are shares, from 0 to 1
  static Baseline of(const std::vector<Run>& runs, const std::set<std::string>& shares = {});
  /// Throws Error with the fault of the file.
  static Baseline read(const std::string& file);
  /// JSON for read().
  std::string text() const;

  const std::string& file() const { return file_; }
  std::size_t run_count() const { return runs_; }
  std::size_t series_count() const { return series_.size(); }
  std::size_t phase_count() const { return starts_.size(); }
  /// The range of a series in the phase of that epoch; null if unknown.
  const Span* span(const Key& key, double epoch) const;
  /// Whether a layer has its own plots, as opposed to plots of the whole model.
  bool has_layer(const std::string& layer) const { return layers_.count(layer) != 0; }
  bool has_layers() const { return !layers_.empty(); }

 private:
  void note_layers();
  std::size_t phase_of(double epoch) const;

  std::string file_;
  std::size_t runs_ = 0;
  std::vector<double> starts_;  // the first epoch of each phase
  std::map<Key, std::vector<Span>> series_;
  std::set<std::string> layers_;
};

/// Compares a run with a baseline, tick by tick, live or from its record. Reports the first series that is outside its
/// range for longer than the patience, and when it is back. Calls come one at a time.
class BaselineWatch {
 public:
  static constexpr const char* rule = "departs_from_baseline";

  /// @param patience  the ticks in a row that a series may be outside
  BaselineWatch(Baseline baseline, int patience) : baseline_(std::move(baseline)), patience_(patience) {}

  /// Adds a value of the current tick.
  void add(const std::string& tag, const std::string& layer, const std::string& line, double value);
  /// Ends the tick and returns new findings.
  std::vector<Finding> end_tick(double epoch);
  /// A sentence about layers that the baseline lacks, once; empty if there are no new ones.
  std::string take_lacking();
  /// Whether the baseline has none of the run's layers, and so is from another model; end_tick() also reports that.
  bool is_of_another_model() const { return other_model_; }

 private:
  struct Departure {
    int outside = 0;  ///< ticks in a row
    double since = 0;
  };
  struct Value {
    Baseline::Key key;
    double value;
  };
  Finding departed(const Value& current, std::size_t others, double epoch) const;
  std::vector<Finding> compare(double epoch);
  Finding another_model(double epoch) const;

  Baseline baseline_;
  int patience_;
  std::vector<Value> values_;  // the values of this tick
  std::map<Baseline::Key, Departure> departures_;
  std::set<std::string> layers_, lacking_, told_lacking_;
  bool compared_ = false, other_model_ = false;
  std::vector<Finding> standing_;  // the open finding; at most one
  Baseline::Key standing_key_;
  int inside_ = 0;  // ticks in a row in which the reported series was back
};

}  // namespace loupe::health
