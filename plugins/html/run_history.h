#pragma once

#include <loupe/detail/keyed_list.h>
#include <loupe/visualizer.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "html/packed.h"

namespace loupe::html {

/// What a run says in words: findings, notes, hyperparameters and how it ended. Each is kept as the JSON that the page
/// holds.
class RunStory {
 public:
  RunStory() = default;
  /// Reads an object with the members that json_members() wrote. Throws if they are something else.
  explicit RunStory(const Json& run);
  /// Puts what an earlier part of the run found and noted before `epoch` in front.
  void continue_from(const RunStory& earlier, double epoch);

  /// A new one replaces the one before of its number.
  void finding(const loupe_finding& finding);
  /// Beyond 1,000 notes, the oldest are dropped.
  void note(const Note& note);
  /// Replaces a value of the same name.
  void hyperparameter(const Hyperparameter& value);
  void end(const Ending& ending);
  /// Forgets the ending: the run goes on after all.
  void reopen() { ending_.clear(); }

  bool has_ended() const { return !ending_.empty(); }
  bool is_empty() const { return findings_.empty() && notes_.empty() && hyperparameters_.empty(); }
  /// In characters.
  std::size_t bytes() const { return bytes_; }
  /// Members of a JSON object: "findings", "notes", "lostNotes", "hyperparameters" as [name, text], "ending" or null.
  std::string json_members() const;

 private:
  using Keyed = detail::KeyedList<std::string>;
  void put(Keyed& list, const std::string& key, std::string json);
  void keep_note(std::string json);

  Keyed findings_, hyperparameters_;
  std::deque<std::string> notes_;
  std::size_t lost_notes_ = 0, bytes_ = 0;
  std::string ending_;
};

/// What a configuration says, as texts by dotted names.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// Everything that the report shows of one run, kept in the form in which the page holds it, so that writing is
/// copying.
class RunHistory {
 public:
  using Write = std::function<void(std::string_view)>;

  explicit RunHistory(const Run& run);
  /// Reads the run out of a report; nothing where the page is no report or holds several runs.
  static std::optional<RunHistory> read(const std::string& page);
  /// Puts what an earlier part of the run showed before `epoch` in front. @param with_story its findings and notes too
  void continue_from(RunHistory earlier, double epoch, bool with_story);
  /// Says how the configuration and the models differ from the earlier ones; "" where they do not.
  std::string differences_from(const RunHistory& earlier) const;
  /// Whether `run` is this one, moved to another folder. If so, takes over the folder.
  bool is_moved_to(const Run& run);

  void tag(const Tag& tag);
  void model(const Model& model);
  /// Epochs ascend: values of the tick's epoch and later ones are forgotten first.
  void begin_tick(const Tick& tick);
  void row(const Row& row);
  void histogram(const Histogram& histogram);

  RunStory& story() { return story_; }
  bool is_empty() const { return epochs_.empty() && story_.is_empty(); }
  std::size_t ticks() const { return epochs_.size(); }
  double last_epoch() const { return epochs_.empty() ? -INFINITY : epochs_.back(); }
  /// The size of what write() writes, in characters.
  std::size_t bytes() const;
  /// Drops every second epoch, also of those to come; the last one is always kept.
  void thin();
  /// Writes the script elements of this run: "run-INDEX", then "run-INDEX-tag-T" for each tag.
  void write(std::size_t index, const Write& write) const;

 private:
  struct Line {
    std::string name;
    PackedSeries values;
  };
  struct Band {
    std::string low_name, high_name;
    PackedSeries lows, highs;
  };
  struct Layer {
    std::string name;
    detail::KeyedList<Line> lines;
    detail::KeyedList<Band> bands;                   // by both names
    detail::KeyedList<HistogramHistory> histograms;  // by line
    double first_broken = NAN;                       // the first epoch with NaN or infinity
  };
  struct TagHistory {
    std::string name;
    std::array<std::string, 5> words;  ///< title, unit, description, healthy, advice; "" where there is none
    std::uint32_t type = LOUPE_SCALE_NUMERICAL;
    bool log_y = false, big = false, annotate = false;
    double y_minimum = NAN, y_maximum = NAN;
    detail::KeyedList<Layer> layers;
  };

  RunHistory() = default;
  TagHistory& tag_of(const std::string& name);
  Layer& layer_of(const std::string& tag, const std::string& name);
  std::size_t column() const;
  void keep(std::size_t columns);
  void forget_from(double epoch);
  void put(PackedSeries& values, double value);
  template <class Change>
  void change_series(Change&& change);
  static std::string describe(const TagHistory& tag);
  static void write_layer(const Layer& layer, const Write& write);

  std::string name_, directory_, config_, loupe_version_, libtorch_version_, started_, begun_, last_tick_;
  Settings settings_;
  int ranks_ = 1;  // how many processes the run has
  double start_time_ = 0;
  std::vector<std::string> models_;  ///< a JSON object each
  RunStory story_;
  bool resumed_ = false, is_incident_ = false;
  std::vector<double> epochs_, steps_, seconds_;  ///< of each column; seconds since the run's start
  std::size_t told_ = 0, stride_ = 1;
  std::size_t series_bytes_ = 0;      // counted as it changes: it is asked for at every tick
  bool last_is_provisional_ = false;  // the last epoch is off the stride: the next one takes its place
  detail::KeyedList<TagHistory> tags_;
};

}  // namespace loupe::html
