#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace loupe {

/// What the series of good runs were between, by phase of training.
class Baseline {
 public:
  using Key = std::tuple<std::string, std::string, std::string>;  ///< tag, layer, line
  struct Span {
    double low, high;  ///< with the margin; NaN where there was nothing
  };
  /// The values of one run, by series and epoch.
  using Run = std::map<Key, std::map<double, double>>;

  /// Takes the envelope of these runs, widened: the fewer they are, the more. Values that are not finite are left out.
  /// @param shares  the tags whose values are shares, from 0 to 1
  static Baseline of(const std::vector<Run>& runs, const std::set<std::string>& shares = {});
  /// Throws ConfigError, which says what is wrong with the file.
  static Baseline read(const std::string& file);
  /// JSON, as read() takes it.
  std::string text() const;

  const std::string& file() const { return file_; }
  std::size_t run_count() const { return runs_; }
  std::size_t series_count() const { return series_.size(); }
  std::size_t phase_count() const { return starts_.size(); }
  /// Where a series was in the phase of that epoch; null where it is unknown or had nothing then.
  const Span* span(const Key& key, double epoch) const;
  /// Layers with a plot of their own, as opposed to plots of the whole model.
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

}  // namespace loupe
