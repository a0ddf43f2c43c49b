#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "record/reader/player.h"
#include "record/visualizer_group.h"

namespace loupe::replay {

/// Plays one record as a whole, as the run was shown.
class RunPlayer final : public Player {
 public:
  RunPlayer(RecordReader& record, VisualizerGroup& visualizers)
      : Player(record, visualizers), visualizers_(visualizers) {}
  ~RunPlayer() override { visualizers_.set_editor(nullptr); }

  /// Plays the record from begin to end; without the end if the record has none. The run is called `name`, and its
  /// files go to `directory`. Throws RecordError, and Error about a visualizer. Returns a sentence on the data left out
  /// at the record's end; empty if nothing was.
  /// @param flags  RUN_CRASHED or RUN_UNKNOWN of a run whose record may have no end
  std::string play(const std::string& name, const std::string& directory, std::uint32_t flags = 0);
  /// Calls this with each line of the record, before the visualizers get it.
  void set_on_line(std::function<void(const RecordLine&)> call) { on_line_ = std::move(call); }
  /// Sets the editor that changes what play() passes on. It outlives that call.
  void set_editor(TickEditor& editor);

 private:
  void take_run() override;
  void take_model() override;
  void take_hyperparameter() override;
  bool keeps(const RecordLine& event) override { return editor_ == nullptr || editor_->keeps(event); }
  /// Calls `parse` with the line at hand. An error in it is reported as an error of the record.
  template <class Parse>
  auto parsed(Parse&& parse) const;

  VisualizerGroup& visualizers_;
  TickEditor* editor_ = nullptr;
  std::function<void(const RecordLine&)> on_line_;
  std::string name_;
};

/// The configuration of a recorded run, for readers of YAML. Anybody may have written it: a comment takes the place of
/// one that Loupe would refuse.
std::string bounded_config(const RecordedRun& run);

}  // namespace loupe::replay
