#pragma once

#include <loupe/abi.h>
#include <loupe/detail/option_values.h>
#include <loupe/detail/owned.h>

#include <atomic>
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

/// The description of a run that visualizers get when they begin.
struct RunDescription {
  std::string name, directory, config;
  OptionValues settings;            ///< settings of the configuration
  std::vector<std::string> lenses;  ///< their components' names
  double start_time = 0;            ///< seconds since 1970
  bool resumed = false;
  int rank = 0, world_size = 1;
  std::string train_loss = "train_loss", validation_loss = "val_loss";  ///< the names of pushed losses
};

/// The LibTorch that this Loupe was built for.
const char* libtorch_version();

/// The messages to an inspector's visualizers: copied once for all, and passed on as a whole when the tick ends, or at
/// once between two. Each visualizer has its own queue and its own thread, which calls it with no lock held, so a slow
/// one delays neither the others nor a step. If HeldTick::most_bytes or thousands of messages wait for one, the sender
/// also waits, to bound the memory. A failure is reported once, the next tick tries again, and training never stops.
/// Calls of this come one at a time.
class Display {
 public:
  LOUPE_SHARED explicit Display(ComponentContext* surroundings = nullptr);
  /// Shows all earlier messages first.
  LOUPE_SHARED ~Display();

  /// Throws ConfigError if one cannot be created. The previous ones get an end without an end of the run, and have
  /// ended when this returns.
  void replace(const std::vector<ComponentConfig>& visualizers);
  LOUPE_SHARED void set_run(RunDescription run);
  /// The run continues in another folder: each visualizer begins again there.
  void move(RunDescription run);
  const RunDescription& run() const { return run_; }
  /// The same for a component, which may keep it: it never changes, and lives as long as this display. Any thread.
  const loupe_run& c_run() const { return *c_run_; }

  // These messages also go to visualizers that join later: the last one for each key.
  /// Throws Error for a tag that another lens than `owner` reported first, unless both set it shared.
  /// @param owner  "the lens 'x'"
  void tag(const loupe_tag& tag, const std::string& owner);
  void model(const loupe_model& model);
  void hyperparameter(const loupe_option_value& value);
  void finding(const loupe_finding& finding);

  /// From now on the reports of each tick are kept for take_held, and not shown.
  void hold_ticks() { holds_ = true; }
  /// The last tick, once it has ended; null if ticks are not held.
  std::unique_ptr<HeldTick> take_held() { return std::move(tick_); }
  /// Returns the message of the last visualizer that failed since the previous call; empty if none failed. The last
  /// messages may not be shown yet.
  std::string take_fault();
  /// Shows a tick that has ended.
  void show(std::unique_ptr<HeldTick> tick);

  /// Throws Error if a tag belongs to another lens than `teller`. A tag that nobody reported belongs to nobody.
  void check_owner(const std::string& tag, const std::string& teller) const;

  LOUPE_SHARED void begin_tick(const loupe_tick& tick);
  // A second number of a tag, layer, name and step at one tick throws Error, unless the tag is shared and the numbers
  // are equal. If two modules share a name, after a warning, the last number counts.
  void row(const loupe_row& row);
  /// Passes each value of a lens, except those of single steps, to `call` first; an empty function ends this.
  void set_on_value(std::function<void(const RowValue&)> call) { on_value_ = std::move(call); }
  void histogram(const loupe_histogram& histogram);
  LOUPE_SHARED void end_tick();
  void note(const loupe_note& note);
  /// Skipped while the previous progress message is still queued.
  void progress(const loupe_progress& progress);
  bool wants_progress() const;
  /// Returns when the visualizers have received all messages so far.
  void wait();
  /// The same without waiting: then calls `call` for each visualizer, on its thread.
  void when_told(const std::function<void()>& call);
  /// Returns when all messages so far are stored; failures are reported.
  void flush();
  /// Ends and destroys all visualizers. Returns when that is done, except for a visualizer that ends the process.
  void end(const loupe_ending& ending);
  bool is_empty() const { return lanes_.empty(); }
  /// The absolute path of the record; empty without one.
  LOUPE_SHARED std::string record() const;
  /// The last tick before epoch `before` that is stored of a resumed run; nullopt without one.
  LOUPE_SHARED std::optional<loupe_moment> last_before(double before);

  /// A value of the last tick that had one; a big plot's layer is empty or the tag's own id.
  std::optional<double> last(const std::string& tag, const std::string& layer, const std::string& line) const;

 private:
  struct Lane;

  template <class Told>
  void keep(std::string key, loupe_status (*loupe_visualizer::*function)(void*, const Told*, loupe_error*),
            const Told& told);
  /// Whether visualizers get the value. Throws Error like check_again().
  bool is_new(const RowValue& value);
  bool is_new(const RowRange& range);
  /// The same for numbers of single steps. Throws Error for more than a tag takes at a tick.
  template <class Number>
  bool is_new_of_step(const Number& number, const std::string& name);
  /// Throws Error for a number already reported in this tick, unless repetition is allowed.
  void check_again(LastValues::Put put, const char* tag, const char* layer, const std::string& name) const;
  void tell(HeldTick::Call call, bool begins = false);
  void post(const HeldTick::Call& call);
  void warn_of_late();
  void tell_past(double before);
  Lane* storing();

  ComponentContext* surroundings_;
  std::function<void(const RowValue&)> on_value_;
  bool holds_ = false;
  std::unique_ptr<HeldTick> tick_;                 // the current or held tick
  std::shared_ptr<std::atomic<HeldTick*>> spare_;  // one shown by all, whose memory is reused
  RunDescription run_;
  std::deque<ShownVisualizer::Run> told_runs_;  // all runs so far, because components may read earlier ones
  std::atomic<const loupe_run*> c_run_{nullptr};
  Past past_;
  Standing standing_;
  struct TagTold {
    std::string content, owner;
    bool is_shared = false;
  };
  std::map<std::string, TagTold, std::less<>> tags_;  // the last state of each
  LastValues last_, last_ends_, last_histograms_;     // last values, ends of ranges, and histograms so far
  std::string ends_name_;                             // kept to reuse its memory
  std::unordered_map<std::string, std::unordered_set<std::string>> of_steps_;  // the numbers of this tick, for each tag
  RowPart fresh_;                                                              // kept to reuse its memory
  std::list<Lane> lanes_;                                                      // one per visualizer, in order
};

}  // namespace loupe
