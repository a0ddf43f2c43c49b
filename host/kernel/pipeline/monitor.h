#pragma once

#include <loupe/abi.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/abnormal_end.h"
#include "core/run_folder.h"
#include "core/shared.h"
#include "findings/finding_board.h"
#include "findings/outbox.h"
#include "pipeline/lens_node.h"
#include "pipeline/module_table.h"
#include "pipeline/schedule.h"
#include "pipeline/step_timing.h"
#include "pipeline/tick_keeper.h"
#include "show/display.h"

namespace loupe {

/// Knows the models that a monitor watches: the inspector, or a bench. Called under the monitor's mutex and never from
/// within a call of a lens.
class MonitorHost {
 public:
  virtual ~MonitorHost() = default;
  /// A tick begins: delivers pending values of the taps, such as parameters and deferred losses.
  virtual void before_tick() {}
  /// The lenses have reported: removes modules that died since the previous tick.
  virtual void after_tick() {}
  /// The current attached optimizers; borrowed until the next call.
  virtual std::vector<const loupe_optimizer*> optimizers() { return {}; }
  /// Monitor::looks() has changed, or a lens measures again after resting. Histories are empty, and must be primed if
  /// the monitor measures.
  virtual void looking_changed() {}
  /// A step has ended and a tick is due: the host must call Monitor::tick_if_due, now or later.
  virtual void tick_due() {}
  /// A finding was raised, changed or resolved; called after the visualizers.
  virtual void finding_told(const loupe_finding&) {}
};

/// An inspector without LibTorch: the lenses and visualizers of one configuration, the modules they watch, and the
/// clock of steps and epochs. Calls come one at a time, except Stream::dispatch and members marked for any thread.
class Monitor final : public LensContext {
 public:
  /// Throws ConfigError if a component cannot be created.
  /// @param host  outlives the monitor; may be null; not called during construction
  explicit Monitor(Config config, MonitorHost* host = nullptr);
  ~Monitor() override;
  /// From now on events are ignored and no lens is called; earlier messages are still shown. The destructor does this
  /// too.
  void end_lenses();

  const Config& config() const { return config_; }
  Display& display() { return display_; }
  /// Callers with several threads hold it around all calls.
  const std::shared_ptr<InspectorMutex>& mutex() const { return mutex_; }
  /// The queue of findings, notes and due ticks.
  const std::shared_ptr<Outbox>& outbox() const { return outbox_; }

  /// Makes this process one of a run of several, unless the configuration did. Before the first tick.
  LOUPE_SHARED void join(const Launch& launch);
  /// From now on ticks are shown after `keeper` has merged them with those of other processes. Before the first tick.
  LOUPE_SHARED void keep_ticks(std::unique_ptr<TickKeeper> keeper);

  /// Adds a module and shows it to every lens; it is watched until the tick after its removal.
  /// @param model  null for a module outside any model  @param parent  a module of that model; may be null
  std::shared_ptr<ModuleNode> add_module(ModuleDescription description,
                                         const std::shared_ptr<ModelNode>& model = nullptr,
                                         const ModuleNode* parent = nullptr);
  /// The same in two steps, for a model that must be complete before a lens sees any of it.
  std::shared_ptr<ModuleNode> take_module(ModuleDescription description, const std::shared_ptr<ModelNode>& model,
                                          const ModuleNode* parent);
  void show_module(ModuleNode& module);
  /// From now on events of the module are ignored. Its numbers are still reported at the next tick; a module without
  /// events is removed at once. Does nothing for one that was removed.
  void remove_module(const std::shared_ptr<ModuleNode>& module);
  /// Sends a model whose modules were added to the visualizers.
  void announce(const ModelNode& model);
  const std::vector<std::shared_ptr<ModuleNode>>& modules() const { return modules_.all(); }
  const std::vector<std::unique_ptr<LensNode>>& lenses() const { return lenses_; }

  /// Whether the current epoch is measured.
  bool active() const { return schedule_.active(); }
  void set_active(LookSchedule::ActiveWhen when);
  /// Whether the current step is measured; all are without `attach.every` and `attach.budget`.
  bool looks() const { return schedule_.looks(); }
  /// Whether steps must be counted even while the monitor does not measure.
  bool counts_every_step() const { return clock_.is_automatic() || config_.every > 1 || config_.budget > 0; }
  /// Whether `attach.budget` allows an optional tick. All ranks show the same.
  bool pays_for_report() const { return config_.launch.world_size > 1 || schedule_.pays_for_report(); }
  /// Text for the summary: ", measures one step in 20"; empty if all are measured.
  std::string sampling_words() const { return schedule_.words(); }

  /// Sends a value of the trainer to the lenses; ignored in inactive epochs.
  void push(const std::string& label, double value, uint32_t flags);
  /// Adds a note to the time axis; `kind` is a LOUPE_NOTE_. Any thread.
  /// @param finding  the number of the finding that it concerns; 0 for none
  void note(uint32_t kind, const std::string& text, uint64_t finding = 0);
  /// @param reason  a LOUPE_TICK_  @param flags  LOUPE_TICK_INCOMPLETE
  void tick(std::optional<double> epoch, uint32_t reason = LOUPE_TICK_EPOCH, uint32_t flags = 0);
  bool has_ticked() const { return tick_ > 1; }
  double epoch() const { return epoch_; }
  uint64_t step() const { return step_; }
  /// Call after each optimizer step: calls the lenses that want steps, and sends progress to the visualizers a few
  /// times a second. @param counts it advances the run's clock
  void note_step(const loupe_optimizer* optimizer = nullptr, bool counts = true);
  /// Call after note_step, once for all models of the step: chooses whether the next step is measured, and calls the
  /// host if a tick is due. @param seen a tap saw the step, or the trainer reported it
  void end_step(bool seen = true);
  /// Ticks if `run.tick` demands it. Returns whether it did.
  bool tick_if_due();
  /// With automatic ticks, at the end of the run: shows the rest as an incomplete tick.
  void tick_rest();
  /// Ends the run: shows the rest as an incomplete tick, and ends the visualizers. Later findings do not reach the
  /// host, and later events are ignored. Throws nothing.
  /// @param how  a LOUPE_END_  @param message  may be null
  LOUPE_SHARED void end(uint32_t how, const char* message);
  /// The run resumes after a number of steps. Call before its first step.
  void begin_after(uint64_t steps);
  void set_epochs(double epochs) { epochs_ = epochs; }
  /// Sets the number of the next epoch, unless its tick gives another number. A resumed run counts its steps on from
  /// the last stored tick before that epoch.
  LOUPE_SHARED void begin_epochs_at(double first);

  /// Takes a finding of a lens or of the host, and shows it at the next step or tick. Any thread.
  LOUPE_SHARED void publish(const loupe_finding& finding, const std::string& speaker) override;
  /// The findings so far.
  const FindingBoard& findings() const { return findings_; }
  /// Writes the last steps of all streams into a folder of the run, and returns it. On failure logs why and returns "".
  std::string dump(const std::string& why);
  /// Replaces the configuration's run.dir.
  void set_directory(const std::string& directory);
  /// Keeps earlier files at the option `path` of these visualizers when this run begins to write; see RunFolder.
  void expect_files_of(const std::vector<ComponentConfig>& visualizers);
  std::optional<double> query(const std::string& key);

 private:
  // The interface for components.
  ModuleNode& node_of(const loupe_module* module) override { return modules_.node_of(module); }
  const loupe_run* run() const override { return &display_.c_run(); }
  bool has_equal_names() const override { return modules_.has_equal_names(); }
  bool lend(const loupe_module& module, const std::string& name, bool gradient, const Take& take) override {
    return modules_.lend(module, name, gradient, take);
  }
  std::optional<uint32_t> parameter_flags(const loupe_module& module, std::size_t parameter) override {
    return modules_.flags(module, parameter);
  }
  void quarantined(const std::string& message) override { note(LOUPE_NOTE_QUARANTINE, message); }
  LoadedComponents* loaded() override { return &loaded_; }

  /// Logs new problems of plugins; lenses may load plugins at any time.
  void tell_problems();
  /// Writes the list of loaded plugins beside the record, if it has grown since the last time.
  void tell_loaded();
  void begin_epoch();
  /// Claims the run's folder before something is written there, and informs the visualizers of a new one.
  void claim_folder();
  /// Whether the run has its own folder, for incidents.
  bool has_own_folder() const { return config_.has_run_directory || display_.run().directory != config_.run_directory; }
  /// Shows the messages of the outbox. Between the calls of components.
  void show_messages();
  void show_finding(const loupe_finding& finding);
  void tick_now(std::optional<double> epoch, uint32_t reason, uint32_t flags);
  void report(uint32_t reason, uint32_t flags);
  void note_step_now(const loupe_optimizer* optimizer, bool counts);
  void tell_optimizer(const loupe_optimizer& optimizer);
  void show_progress();
  void tell_error(const loupe_finding& finding) const;
  /// Shows the merged ticks of all processes of the run.
  void show_complete(TickKeeper::Complete complete);
  /// Reports a fault of this process's visualizers to the process that shows the run.
  void tell_fault();
  /// At the end: reports such a fault, and then shows the last ticks.
  void finish_ticks();
  void judge_costs();
  /// Opens the part that times steps if a lens or trace needs it.
  void time_steps();
  void tell_unwritten();
  void tell_measured();
  /// Calls `call` with each lens of the configuration, and with the host's own.
  template <class Call>
  void each_lens(Call&& call) const {
    for (const auto& lens : lenses_) call(*lens);
    if (own_lens_) call(*own_lens_);
  }
  /// Lets a new lens visit the modules so far.
  void begin(LensNode& lens);
  bool writes_incidents() const { return config_.incidents > 0 && has_own_folder(); }
  /// Chooses the lens that keeps the last steps before a fault; the host's own if the configuration names none.
  void keep_incidents();
  void write_due_incident();
  /// @param how, why, finding  see loupe_draft_incident
  std::string write_incident(const std::string& how, const std::string& why, const loupe_finding* finding = nullptr);
  loupe_moment moment(double epoch) const;
  /// The epoch that ends, within a tick; else the current one.
  double epoch_at_hand() const { return in_tick_ ? epoch_ : epoch_ + 1; }

  bool is_open() const;
  bool is_over() const { return life_ == Life::ended || !has_lenses_; }
  bool is_early() const { return epochs_ > 0 && epoch_ < epochs_; }
  loupe_ending ending(uint32_t how, const char* message) const;
  void call_is_over();
  void process_ends(const ProcessEnd& end);

  // Members are destroyed last to first. First come members that other threads and components use as long as they live:
  // the outbox, the modules and the run's clock.
  const std::shared_ptr<InspectorMutex> mutex_ = std::make_shared<InspectorMutex>();
  const std::shared_ptr<Outbox> outbox_ = std::make_shared<Outbox>();
  MonitorHost nobody_;
  MonitorHost* host_ = &nobody_;
  Config config_;
  LoadedComponents loaded_;
  std::atomic<uint64_t> step_{0};
  ModuleTable modules_;
  Exclusive serial_;

  // Visualizers end before the folder is released.
  RunFolder folder_;
  std::vector<std::string> files_;  // paths of the visualizers; earlier files there are kept
  bool kept_older_ = false;         // files of an earlier run were kept, which the user does not yet know
  Display display_;
  FindingBoard findings_;
  std::unique_ptr<const detail::Owned<loupe_finding>> due_;  // an incident must be written for it

  std::unique_ptr<StepTiming> timing_;  // null if no step is timed
  LookSchedule schedule_;
  TickClock clock_;
  int64_t tick_ = 1;
  double epoch_ = 0, epochs_ = 0, first_epoch_ = 0;
  bool in_tick_ = false;
  bool step_counted_ = false;               // a step was counted since the last end_step
  uint64_t uncounted_ = 0;                  // steps since one that counted
  double last_tick_;                        // its time, by steady_time
  uint64_t steps_ = 0, steps_before_ = 0;   // steps since the last tick, and between the two ticks before
  uint64_t first_step_ = 0, measured_ = 0;  // steps before this run, and its measured steps
  uint64_t measured_before_ = 0;            // measured steps until the last tick
  uint64_t newest_optimizer_ = 0;
  std::set<std::string> optimized_models_;  // models whose first optimizer was shown
  std::chrono::steady_clock::time_point start_, epoch_start_, last_progress_;
  std::size_t told_problems_ = 0;

  std::unique_ptr<TickKeeper> keeper_;  // null for a single process

  // Lenses use all members above when they end.
  std::vector<std::unique_ptr<LensNode>> lenses_;
  std::unique_ptr<LensNode> own_lens_;  // the lens that the host added, or null
  LensNode* incident_lens_ = nullptr;   // one of these lenses, or null
  std::vector<Hearer> hearers_;         // hearers of future modules

  int calls_ = 0;  // calls in progress, including nested ones
  struct CallCount {
    explicit CallCount(int& count) : count_(count) { ++count_; }
    ~CallCount() { --count_; }
    int& count_;
  };
  enum class Life { runs, ends, ended } life_ = Life::runs;
  bool has_lenses_ = true;  // false after end_lenses
  // Must be last: at the end of the process it calls a monitor that must be whole.
  std::unique_ptr<AbnormalEnd> abnormal_end_;
};

}  // namespace loupe
