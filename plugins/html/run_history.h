#pragma once

#include <loupe/detail/keyed_list.h>
#include <loupe/detail/run_state.h>
#include <loupe/visualizer.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "html/packed.h"

namespace loupe::html {

/// The findings, notes, hyperparameters and ending of a run. Each is stored as the JSON that the page contains.
class RunStory {
 public:
  RunStory() = default;

  /// A finding with a known id replaces the earlier one.
  void finding(const loupe_finding& finding);
  /// Beyond 1,000 notes, the oldest are dropped.
  void note(const Note& note);
  /// Replaces an earlier value of the same name.
  void hyperparameter(const Hyperparameter& value);
  void end(const Ending& ending);
  /// Forgets the ending, because the run continues.
  void reopen() { ending_.clear(); }

  bool has_ended() const { return !ending_.empty(); }
  bool is_empty() const { return findings_.empty() && notes_.empty() && hyperparameters_.empty(); }
  /// The size of the stored JSON in characters.
  std::size_t bytes() const { return bytes_; }
  /// The run's state; `flags` are those of loupe_run.
  StateOfRun state(std::uint32_t flags) const;
  BrokenLoss& losses() { return losses_; }
  /// Members of a JSON object: "findings", "notes", "lostNotes", "hyperparameters" as [name, text], "ending" or null.
  std::string json_members() const;

 private:
  using Keyed = detail::KeyedList<std::string>;
  void put(Keyed& list, const std::string& key, std::string json);
  void keep_note(std::string json);

  Keyed findings_, hyperparameters_;
  std::deque<std::string> notes_;
  std::size_t lost_notes_ = 0, bytes_ = 0;
  std::string ending_, end_message_;
  std::uint32_t how_ = 0;  // LOUPE_END_ of the ending
  BrokenLoss losses_;
};

/// The settings of a configuration as texts, by dotted names.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// All data that the report shows of one run, stored in the form in which the page contains them, so that writing only
/// copies them.
class RunHistory {
 public:
  using Write = std::function<void(std::string_view)>;

  explicit RunHistory(const Run& run);
  /// Whether `run` is this one, moved to another folder. If so, changes the folder.
  bool is_moved_to(const Run& run);

  void tag(const Tag& tag);
  void model(const Model& model);
  /// Begins a tick. Epochs ascend, so values of the tick's epoch and of later ones are forgotten first.
  void begin_tick(const Tick& tick);
  /// Adds the values of a row. Those of a single step, and the ends of its bands, become points between two epochs.
  void row(const Row& row);
  void histogram(const Histogram& histogram);

  RunStory& story() { return story_; }
  bool is_empty() const { return epochs_.empty() && story_.is_empty(); }
  std::size_t ticks() const { return epochs_.size(); }
  /// The size of what write() writes, in characters.
  std::size_t bytes() const;
  /// Drops every second epoch, now and in future; the last epoch is always kept.
  void thin();
  /// Writes the script elements of this run: "run-INDEX", then "run-INDEX-tag-T" for each tag.
  /// @param report_folder  the folder of the page, for links from the page to the run's folder
  void write(std::size_t index, const std::string& report_folder, const Write& write) const;

 private:
  struct Line {
    std::string name;
    PackedSeries values;
  };
  struct Band {
    std::string low_name, high_name;
    PackedSeries lows, highs;
  };
  /// Numbers of single steps of a line, at most MOST_STEPS: if there are more, every second one is dropped, now and in
  /// future.
  struct StepLine {
    std::string name;
    std::vector<double> epochs;  ///< the position of each between two epochs
    PackedSeries values;
    std::size_t stride = 1, told = 0;

    void put(double epoch, double value);
    void cut(std::size_t points);
    void thin();
    std::size_t bytes() const;
  };
  struct Layer {
    std::string name;
    detail::KeyedList<Line> lines;
    detail::KeyedList<StepLine> step_lines;
    detail::KeyedList<Band> bands;                   // by both names
    detail::KeyedList<HistogramHistory> histograms;  // by line
    double first_broken = NAN;                       // the first epoch with NaN or infinity
  };
  struct TagHistory {
    std::string name;
    std::array<std::string, 5> words;  ///< title, unit, description, healthy, advice; each may be ""
    std::uint32_t type = LOUPE_SCALE_NUMERICAL;
    bool log_y = false, big = false, annotate = false;
    double y_minimum = NAN, y_maximum = NAN;
    detail::KeyedList<Layer> layers;
  };

  TagHistory& tag_of(const std::string& name);
  Layer& layer_of(const std::string& tag, const std::string& name);
  std::size_t column() const;
  void keep(std::size_t columns);
  void forget_from(double epoch);
  void put(PackedSeries& values, double value);
  void put_numbers(const Row& row);
  void put_step(const Row& row);
  template <class Change>
  void change_series(Change&& change);
  template <class Change>
  void change_step_lines(Change&& change);
  static std::string describe(const TagHistory& tag);
  static void write_layer(const Layer& layer, const Write& write);

  std::string name_, directory_, config_, loupe_version_, libtorch_version_, started_, begun_, last_tick_;
  Settings settings_;
  std::uint32_t flags_ = 0;
  int ranks_ = 1;  // the number of processes of the run
  double start_time_ = 0;
  std::vector<std::string> models_;   ///< a JSON object each
  std::vector<double> model_epochs_;  ///< the last epoch before each model was attached; NaN before the first
  RunStory story_;
  std::vector<double> epochs_, steps_, seconds_;  ///< of each column; seconds since the run's start
  double epoch_before_ = 0, step_before_ = 0;     // of the previous tick
  std::size_t told_ = 0, stride_ = 1;
  std::size_t series_bytes_ = 0;      // updated at each change, because it is read at every tick
  bool last_is_provisional_ = false;  // the last epoch does not fit the stride: the next one replaces it
  detail::KeyedList<TagHistory> tags_;
};

}  // namespace loupe::html
