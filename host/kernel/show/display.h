#pragma once

#include <loupe/abi.h>
#include <loupe/detail/option_values.h>
#include <loupe/detail/owned.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "config/config.h"
#include "core/shared.h"
#include "show/held_tick.h"
#include "show/last_values.h"
#include "show/past.h"
#include "show/row_part.h"
#include "show/shown_visualizer.h"

namespace loupe {

/// What a run is, as visualizers are told when they begin.
struct RunDescription {
  std::string name, directory, config;
  OptionValues settings;            ///< of the configuration
  std::vector<std::string> lenses;  ///< their components' names
  double start_time = 0;            ///< seconds since 1970
  bool resumed = false;
  int rank = 0, world_size = 1;
  std::string train_loss = "train_loss", validation_loss = "val_loss";  ///< under which losses are pushed
};

/// The LibTorch that this Loupe was built for.
const char* libtorch_version();

/// What an inspector's visualizers are told: copied once for all, and handed over as a whole when the tick ends, or at
/// once between two. Each visualizer has its own queue and its own thread, which calls it with no lock held, so that a
/// slow one falls behind alone and slows no step. Where HeldTick::most_bytes or thousands of messages wait for one,
/// the teller waits too, so that memory stays bounded. One that fails is told once, tried again at the next
/// tick, and never stops training. Calls of this come one at a time.
class Display {
 public:
  LOUPE_SHARED explicit Display(ComponentContext* surroundings = nullptr);
  /// What was told is shown before.
  LOUPE_SHARED ~Display();
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  /// Throws ConfigError when one cannot be made. Those that were there are told that the run goes on without them, and
  /// have ended when this returns.
  void replace(const std::vector<ComponentConfig>& visualizers);
  LOUPE_SHARED void set_run(RunDescription run);
  /// The run goes on in another folder: each visualizer begins again there.
  void move(RunDescription run);
  const RunDescription& run() const { return run_; }
  /// The same for a component, which may keep it: it never changes, and lives as long as this display. Any thread.
  const loupe_run& c_run() const { return *c_run_; }

  // What a visualizer that joins later is told too: of each key the last.
  /// Throws Error for a tag that another than `owner` told first, unless both have it shared.
  /// @param owner  "the lens 'x'"
  void tag(const loupe_tag& tag, const std::string& owner);
  void model(const loupe_model& model);
  void hyperparameter(const loupe_option_value& value);
  void finding(const loupe_finding& finding);

  /// From now on what lenses report is kept at each tick, for take_held, instead of being shown.
  void hold_ticks() { holds_ = true; }
  /// The last tick, once it has ended; null where ticks are not held.
  std::unique_ptr<HeldTick> take_held() { return std::move(tick_); }
  /// Returns the message of the last visualizer that failed since the previous call; empty if none failed. What was
  /// told last may not be shown yet.
  std::string take_fault();
  /// Shows a tick that has ended.
  void show(std::unique_ptr<HeldTick> tick);

  /// Throws Error where a tag belongs to another than `teller`, who has not told it. One that nobody told is anybody's.
  void check_owner(const std::string& tag, const std::string& teller) const;

  LOUPE_SHARED void begin_tick(const loupe_tick& tick);
  // A second one of a tag, layer, name and step at one tick throws Error, unless the tag is shared and the numbers are
  // the same. Where two modules share a name, which the user was warned of, the last number counts.
  void row(const loupe_row& row);
  /// Passes each value of a lens, except those of single steps, to `call` first; an empty one ends that.
  void set_on_value(std::function<void(const RowValue&)> call) { on_value_ = std::move(call); }
  void histogram(const loupe_histogram& histogram);
  LOUPE_SHARED void end_tick();
  void note(const loupe_note& note);
  /// Skipped while the previous progress message is still queued.
  void progress(const loupe_progress& progress);
  bool wants_progress() const;
  /// Returns when everything told so far was told to the visualizers.
  void wait();
  /// Calls then for each visualizer, on its thread.
  void when_told(const std::function<void()>& call);
  /// Returns when everything told so far is stored; what fails is told.
  void flush();
  /// Ends all visualizers, and with them their lives. Returns when that is done, but for one that ends the process;
  /// false where that is one that stores runs.
  bool end(const loupe_ending& ending);
  bool is_empty() const { return lanes_.empty(); }
  /// The absolute path of the record; empty without one.
  LOUPE_SHARED std::string record() const;
  /// The last tick before epoch `before` that is stored of a resumed run; nullopt without one.
  std::optional<loupe_moment> last_before(double before);

  /// A value of the last tick that had one; a big plot's layer is empty or the tag's own id.
  std::optional<double> last(const std::string& tag, const std::string& layer, const std::string& line) const;

 private:
  struct Lane;

  template <class Told>
  void keep(std::string key, loupe_status (*loupe_visualizer::*function)(void*, const Told*, loupe_error*),
            const Told& told);
  /// Whether visualizers get it. Throws Error as check_again() does.
  bool is_new(const RowValue& value);
  bool is_new(const RowRange& range);
  /// The same of numbers of single steps. Throws Error for more than a tag takes at a tick.
  template <class Number>
  bool is_new_of_step(const Number& number, const std::string& name);
  /// Throws Error for what was told in this tick already, unless it may be.
  void check_again(LastValues::Put put, const char* tag, const char* layer, const std::string& name) const;
  void tell(HeldTick::Call call, bool begins = false);
  void post(const HeldTick::Call& call);
  void warn_of_late();
  void tell_past(double before);
  Lane* storing();

  ComponentContext* surroundings_;
  std::function<void(const RowValue&)> on_value_;
  bool holds_ = false;
  std::unique_ptr<HeldTick> tick_;                 // that is on, or held
  std::shared_ptr<std::atomic<HeldTick*>> spare_;  // one that all have shown, for its memory
  RunDescription run_;
  std::deque<ShownVisualizer::Run> told_runs_;  // also those before, which components may read
  std::atomic<const loupe_run*> c_run_{nullptr};
  Past past_;
  Standing standing_;
  struct TagTold {
    std::string content, owner;
    bool is_shared = false;
  };
  std::map<std::string, TagTold, std::less<>> tags_;  // what was last said of each
  LastValues last_, last_ends_, last_histograms_;     // of values, of ranges, and which histograms there were
  std::string ends_name_;                             // kept for its memory
  std::unordered_map<std::string, std::unordered_set<std::string>>
      of_steps_;           // of each tag, what was told at this tick
  RowPart fresh_;          // the same
  std::list<Lane> lanes_;  // of visualizers, in their order
};

}  // namespace loupe
