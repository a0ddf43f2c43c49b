#pragma once

#include <loupe/visualizer.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "loupe/testing.h"

namespace loupe::testing {

/// What visualizers were told, kept for the test to read.
struct Shown {
  using Place = std::tuple<std::string, std::string, std::string>;  ///< tag, layer, and line or low name

  std::map<std::string, Tag> tags;
  std::map<Place, double> values;  ///< these three of the last tick
  std::map<Place, Range> ranges;
  std::map<Place, Histogram> histograms;
  std::vector<Finding> findings;
};

/// The visualizer that keeps them. Every bench has one, beside those of its YAML.
class Keeper : public Visualizer {
 public:
  /// @param shown  outlives this
  explicit Keeper(Shown& shown) : shown_(shown) {}

  void tag(const loupe_tag& tag) override;
  void begin_tick(const loupe_tick& tick) override;
  void row(const loupe_row& row) override;
  void histogram(const loupe_histogram& histogram) override;
  void finding(const loupe_finding& finding) override;

 private:
  Shown& shown_;
};

}  // namespace loupe::testing
