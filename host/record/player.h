#pragma once

#include <loupe/abi.h>
#include <loupe/detail/owned.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "config/config.h"
#include "loader/visualizer_node.h"
#include "record/finding_history.h"
#include "record/record_reader.h"

namespace loupe::replay {

/// The visualizers that a record is played to. Unlike in training, a visualizer that fails ends the replay with an
/// Error that names it.
class VisualizerGroup : public ComponentContext {
 public:
  explicit VisualizerGroup(const std::vector<ComponentConfig>& visualizers);
  /// Just this one, which a run uses already and which outlives this.
  explicit VisualizerGroup(VisualizerNode& visualizer) : visualizers_{&visualizer} {}
  VisualizerGroup(const VisualizerGroup&) = delete;
  VisualizerGroup& operator=(const VisualizerGroup&) = delete;

  /// The run that is played, as its record describes it: with the directory that the run had, while begin() names the
  /// one where files belong now.
  void set_run(const loupe_run& run) { run_ = &runs_.emplace_back(run).get(); }
  const loupe_run* run() const override { return run_; }
  /// The findings of a replay are those of its record.
  bool lend(const loupe_module&, const std::string&, bool, const Take&) override { return false; }
  std::optional<uint32_t> parameter_flags(const loupe_module&, std::size_t) override { return std::nullopt; }

  /// Calls one function of each, such as &loupe_visualizer::row.
  template <class... Arguments>
  void tell(Arguments&&... arguments) {
    for (VisualizerNode* visualizer : visualizers_) tell_one(*visualizer, arguments...);
  }
  /// One that shows all runs in one file, by its place: it has that stored with the last run, and not with each.
  void store_together(std::size_t place) { together_.insert(visualizers_[place]); }
  void set_more_follow(bool more_follow) { more_follow_ = more_follow; }
  void flush() {
    for (VisualizerNode* visualizer : visualizers_)
      if (!more_follow_ || together_.count(visualizer) == 0) tell_one(*visualizer, &loupe_visualizer::flush);
  }
  /// What a line of the kind `finding` or `note` says.
  void tell_event(const RecordLine& line);

 private:
  template <class... Arguments>
  static void tell_one(VisualizerNode& visualizer, Arguments&&... arguments) {
    detail::ErrorBuffer error;
    if (visualizer.tell(arguments..., error.get()) != LOUPE_OK) fail(visualizer, error.text());
  }
  [[noreturn]] static void fail(const VisualizerNode& visualizer, const char* what);

  std::deque<detail::Owned<loupe_run>> runs_;  // also those before, which visualizers may read
  std::atomic<const loupe_run*> run_{nullptr};
  std::deque<VisualizerNode> own_;
  std::vector<VisualizerNode*> visualizers_;
  std::set<VisualizerNode*> together_;
  bool more_follow_ = false;
};

/// Changes a record as it is played. Calls come in the order of the record.
class TickEditor {
 public:
  TickEditor() = default;
  virtual ~TickEditor() = default;
  TickEditor(const TickEditor&) = delete;
  TickEditor& operator=(const TickEditor&) = delete;

  /// Whether a finding or note of the record is told.
  virtual bool keeps(const RecordLine& event) = 0;
  /// Before a tick.
  virtual void begin_tick(const loupe_tick& tick) = 0;
  /// What the record has in the tick, in place of the visualizers.
  virtual void row(const loupe_row& row) = 0;
  virtual void histogram(const loupe_histogram& histogram) = 0;
  /// At the end of the tick, to tell the visualizers its numbers.
  virtual void show_numbers() = 0;
  /// Behind the tick.
  virtual void end_tick() = 0;
  /// Behind the last tick, before the run's end.
  /// @param has_ended  whether the record says how the run ended
  virtual void end(bool has_ended) = 0;
};

/// Plays one record, whole epochs only, to visualizers. Memory grows with an epoch and with how many names there are,
/// not with the record.
class Player {
 public:
  Player(RecordReader& record, VisualizerGroup& visualizers) : record_(record), visualizers_(visualizers) {}

  /// From begin to end; without the end where the record has none, for then nobody knows whether the run ended. The run
  /// is called `name`, and its files belong into `directory`. Throws ConfigError about the record and Error about a
  /// visualizer. Returns a sentence on what was left out at the record's end; empty when nothing was.
  std::string play(const std::string& name, const std::string& directory);
  /// Calls this with each line of the record, before the visualizers get it.
  void set_on_line(std::function<void(const RecordLine&)> call) { on_line_ = std::move(call); }
  /// Who changes what play() tells; it outlives that.
  void set_editor(TickEditor& editor) { editor_ = &editor; }
  /// The part before epoch `before`, for visualizers that have begun already: tags, whole epochs, notes and findings;
  /// findings that still stand are ended. No models, settings or ending. Throws as play.
  /// @param with_events notes and findings too
  void play_history(double before, bool with_events);
  /// The findings of the record; known once it was played.
  const FindingHistory& findings() const { return findings_; }
  /// Whether the record says how the run ended; known once it was played.
  bool has_ended() const { return ending_.has_value(); }

 private:
  /// A value, range, histogram, finding or note that waits for the end of its epoch.
  struct Told {
    RecordLine::Kind kind;
    const char *tag, *layer, *line, *high_name;
    double low, high;
    std::uint64_t events;
    std::size_t first_number, bin_count;  // of a histogram, in numbers_
    std::shared_ptr<RecordLine> event;    // a finding or note: all of it
  };

  void begin(const RecordedRun& run, const std::string& name, const std::string& directory);
  void go_on();
  void take(const RecordLine& line);
  void take_model();
  void take_tag(const RecordLine& line);
  void take_hyperparameter();
  void join_epoch(double epoch);
  /// The events that wait; no epoch has begun.
  void show_events();
  void end_epoch(const RecordLine& tick);
  void forget_epoch();
  void end();
  void show(const Told& told);
  /// Calls `tell(&loupe_visualizer::row, loupe_row)`, or the same of a histogram.
  template <class Tell>
  void tell_numbers(const Told& told, Tell&& tell);
  void edit(const loupe_row& row) { editor_->row(row); }
  void edit(const loupe_histogram& histogram) { editor_->histogram(histogram); }
  const char* kept(const std::string& name) { return names_.insert(name).first->c_str(); }
  std::string left_out() const;

  RecordReader& record_;
  VisualizerGroup& visualizers_;
  TickEditor* editor_ = nullptr;
  std::function<void(const RecordLine&)> on_line_;
  std::string name_;
  std::unordered_set<std::string> names_, tags_;
  std::vector<Told> told_;
  std::vector<double> numbers_;
  FindingHistory findings_;
  bool in_epoch_ = false, is_history_ = false, leaves_out_events_ = false;
  double epoch_ = 0, before_ = 0;  // the latter of a history
  std::uint64_t ticks_ = 0;
  std::optional<RecordLine> ending_;  // while it is the record's last line
};

}  // namespace loupe::replay
