#pragma once

#include <loupe/abi.h>
#include <loupe/detail/owned.h>
#include <loupe/visualizer.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/config.h"
#include "loader/visualizer_node.h"
#include "record/reader/record_line.h"

namespace loupe::replay {

/// Changes a record as it is played. Calls come in the order of the record.
class TickEditor {
 public:
  TickEditor() = default;
  virtual ~TickEditor() = default;
  TickEditor(const TickEditor&) = delete;
  TickEditor& operator=(const TickEditor&) = delete;

  /// Whether to play a finding or note of the record.
  virtual bool keeps(const RecordLine& event) = 0;
  /// Before a tick.
  virtual void begin_tick(const loupe_tick& tick) = 0;
  /// Takes a row of the record in the tick, which does not reach the visualizers by itself.
  virtual void row(const loupe_row& row) = 0;
  virtual void histogram(const loupe_histogram& histogram) = 0;
  /// Hands the tick's numbers to the visualizers, at its end.
  virtual void show_numbers() = 0;
  /// After the tick.
  virtual void end_tick() = 0;
  /// After the last tick, before the run's end.
  /// @param has_ended  whether the record has an end of the run
  virtual void end(bool has_ended) = 0;
};

/// The visualizers that a record is played to. Unlike in training, a visualizer that fails ends the replay with an
/// Error that names it.
class VisualizerGroup final : public ComponentContext, public Visualizer {
 public:
  explicit VisualizerGroup(const std::vector<ComponentConfig>& visualizers);
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
    for (VisualizerNode& visualizer : visualizers_) tell_one(visualizer, arguments...);
  }
  /// Marks a visualizer that shows all runs in one file, by its place: it stores the file only with the last run.
  void store_together(std::size_t place) { together_.insert(&visualizers_[place]); }
  void set_more_follow(bool more_follow) { more_follow_ = more_follow; }
  /// Sets the editor that changes a Player's messages; null for none.
  void set_editor(TickEditor* editor) { editor_ = editor; }

  // The messages of a Player.
  void begin(const Run& run) override { tell(&loupe_visualizer::begin, run); }
  void model(const Model& model) override { tell(&loupe_visualizer::model, model); }
  void tag(const Tag& tag) override { tell(&loupe_visualizer::tag, tag); }
  void hyperparameter(const Hyperparameter& value) override { tell(&loupe_visualizer::hyperparameter, value); }
  void begin_tick(const Tick& tick) override;
  void row(const Row& row) override;
  void histogram(const Histogram& histogram) override;
  void end_tick() override;
  void finding(const loupe_finding& finding) override { tell(&loupe_visualizer::finding, finding); }
  void note(const Note& note) override { tell(&loupe_visualizer::note, note); }
  void flush() override;
  void end(const Ending& ending) override { tell(&loupe_visualizer::end, ending); }

 private:
  template <class... Arguments>
  static void tell_one(VisualizerNode& visualizer, Arguments&&... arguments) {
    detail::ErrorBuffer error;
    if (visualizer.tell(arguments..., error.get()) != LOUPE_OK) fail(visualizer, error.text());
  }
  [[noreturn]] static void fail(const VisualizerNode& visualizer, const char* what);

  std::deque<detail::Owned<loupe_run>> runs_;  // all runs, because visualizers may read earlier ones
  std::atomic<const loupe_run*> run_{nullptr};
  std::deque<VisualizerNode> visualizers_;
  std::set<const VisualizerNode*> together_;
  bool more_follow_ = false;
  TickEditor* editor_ = nullptr;
};

}  // namespace loupe::replay
