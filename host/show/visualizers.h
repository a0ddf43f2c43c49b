#pragma once

#include <loupe/abi.h>
#include <loupe/detail/owned.h>

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/locks.h"
#include "loader/visualizer_node.h"
#include "record/resumed_history.h"
#include "show/held_tick.h"

namespace loupe {

/// The visualizers of an inspector, as one thread calls them: the display's, while it has any; see Display. What fails
/// is told once and tried again at the next tick.
class Visualizers final : public ComponentContext {
 public:
  using Run = std::shared_ptr<const detail::Owned<loupe_run>>;
  using Tell = std::function<loupe_status(VisualizerNode&, loupe_error*)>;

  /// @param around  may be null, and outlives this
  explicit Visualizers(ComponentContext* around) : around_(around) {}
  Visualizers(const Visualizers&) = delete;
  Visualizers& operator=(const Visualizers&) = delete;

  /// Takes the place of those before, which have ended.
  void replace(std::vector<VisualizerNode> made, ResumedHistory history);
  /// @param is_elsewhere  the run goes on in another folder: each visualizer begins anew there
  void set_run(Run run, bool is_elsewhere);
  /// What a visualizer that joins later is told too: of each key the last.
  void keep(std::string key, Tell tell);
  void model(const loupe_model& model);
  void show(const HeldTick& tick);
  void finding(std::string key, Tell tell);
  void note(const loupe_note& note);
  void progress(const loupe_progress& progress);
  void flush();
  void end(const loupe_ending& ending);

  // Of any thread.
  /// The message of the last one that failed since the previous call; empty if none failed.
  std::string take_fault();
  /// A tick that was shown, for its memory; null where there is none.
  std::shared_ptr<HeldTick> take_spare();
  void give_spare(std::shared_ptr<HeldTick> shown);

 private:
  struct Shown {
    VisualizerNode node;
    bool begun = false;    // told of the run
    std::size_t told = 0;  // how many of what stands it knows
    bool failing = false;  // the user knows
    bool skip = false;     // failed in this tick
    bool told_slow = false;
  };
  struct Standing {
    std::string key;
    Tell tell;  // empty: replaced by a later one
  };

  // What visualizers ask of their surroundings, on the thread that calls them or on threads of theirs.
  const loupe_run* run() const override { return c_run_; }
  bool lend(const loupe_module& module, const std::string& name, bool gradient, const Take& take) override;
  std::optional<uint32_t> parameter_flags(const loupe_module& module, std::size_t index) override;
  LoadedComponents* loaded() override { return around_ != nullptr ? around_->loaded() : nullptr; }

  void drop_replaced();
  /// @param before the epoch with which a resumed run goes on, where it is known
  void begin(Shown& shown, double before = std::numeric_limits<double>::infinity());
  void begin_all();
  void tell_standing(Shown& shown);
  /// Returns when it ended, so that a row of calls reads the clock once each.
  template <class Call>
  double guarded_call(Shown& shown, Call&& call, double start = steady_time());
  static void judge_time(Shown& shown, double seconds);
  template <class... Arguments>
  void each(Arguments&&... arguments);

  ComponentContext* around_;
  Run run_ = std::make_shared<const detail::Owned<loupe_run>>(loupe_run{});
  std::vector<Run> earlier_runs_;  // which visualizers may still read
  std::atomic<const loupe_run*> c_run_{&run_->get()};
  bool is_resumed_ = false;
  std::vector<Shown> shown_;
  ResumedHistory history_;
  bool compared_ = false;  // with what a resumed run was before
  RecordedModels models_;  // until then
  std::vector<Standing> standing_;
  std::size_t replaced_ = 0;                     // of what stands
  std::map<std::string, std::size_t> place_of_;  // of a key among what stands

  mutable LeafMutex mutex_;
  std::string fault_;  // under the mutex, as what follows
  std::shared_ptr<HeldTick> spare_;
};

}  // namespace loupe
