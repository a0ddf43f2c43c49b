#ifndef LOUPE_HTML_RUN_HISTORY_H
#define LOUPE_HTML_RUN_HISTORY_H

#include "html/histogram_history.h"
#include "html/run_story.h"

#include <loupe/visualizer.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace loupe::html {

/// Everything told of one run, in the form in which the page holds it, so that writing is copying.
class RunHistory {
 public:
  using Write = std::function<void(std::string_view)>;

  /// @param now ISO 8601, UTC
  RunHistory(const Run& run);

  void tag(const Tag& tag);
  /// Epochs ascend: what was told of `epoch` and later is forgotten first.
  void model(const Model& model);
  void begin_tick(const Tick& tick);
  void value(const Value& value);
  void range(const Range& range);
  void histogram(const Histogram& histogram);

  /// What is told of it in words.
  RunStory& story() { return story_; }
  /// Nothing was told of it yet.
  bool is_empty() const { return epochs_.empty() && story_.is_empty(); }
  std::size_t ticks() const { return epochs_.size(); }
  /// What the values take, in characters.
  std::size_t bytes() const;
  /// Keeps every second of the epochs kept so far, and from now on as many fewer; the last one is always kept.
  void thin();
  /// The script elements of this run: "run-INDEX", then "run-INDEX-tag-T" for each tag.
  void write(std::size_t index, const Write& write) const;

 private:
  struct Line {
    std::string name, values;
  };
  struct Band {
    std::string low_name, high_name, lows, highs;
  };
  struct Layer {
    std::string name;
    std::vector<Line> lines;
    std::vector<Band> bands;
    std::vector<HistogramHistory> histograms;
    double first_broken = NAN;  // the first epoch that brought NaN or infinity
  };
  struct TagHistory {
    std::string name;
    std::array<std::string, 5> words;  ///< title, unit, description, healthy, advice; "" where there is none
    std::uint32_t type = LOUPE_TAG_NUMERICAL;
    bool log_y = false, big = false, annotate = false;
    double y_minimum = NAN, y_maximum = NAN;
    std::vector<Layer> layers;
    std::unordered_map<std::string, std::size_t> layer_index;
  };

  TagHistory& tag_of(const char* name);
  Layer& layer_of(const char* tag, const char* layer);
  std::size_t column() const;
  void keep(std::size_t columns);
  void forget_from(double epoch);
  template <class Use>
  void each_series(Use&& use);
  static std::string describe(const TagHistory& tag);
  static void write_layer(const Layer& layer, const Write& write);

  std::string name_, directory_, config_, settings_, loupe_version_, libtorch_version_, started_, begun_, last_tick_;
  // settings_ is JSON
  std::vector<std::string> models_;  ///< a JSON object each
  RunStory story_;
  bool resumed_;
  std::vector<double> epochs_, steps_, seconds_;  ///< of each column; seconds since the run's start
  std::size_t told_ = 0, stride_ = 1;
  bool last_is_provisional_ = false;  // the last epoch is off the stride: the next one takes its place
  std::vector<TagHistory> tags_;
};

}  // namespace loupe::html

#endif
