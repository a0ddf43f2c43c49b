#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "black_box/abnormal_end.h"
#include "black_box/incidents.h"
#include "config/config.h"
#include "core/last_words.h"
#include "findings/baseline_watch.h"
#include "findings/finding_board.h"
#include "findings/outbox.h"
#include "pipeline/lens_node.h"
#include "pipeline/look_schedule.h"
#include "pipeline/module_table.h"
#include "pipeline/monitor_host.h"
#include "pipeline/output_folder.h"
#include "pipeline/tick_clock.h"
#include "pipeline/tick_keeper.h"
#include "show/display.h"
#include "timing/timed_steps.h"

namespace loupe {

/// An inspector without LibTorch: the lenses and visualizers of one configuration, the modules they watch, and the
/// clock of steps and epochs. Calls come one at a time, except those of Stream::dispatch and what is said to be for any
/// thread.
class Monitor final : public LensSurroundings {
 public:
  /// Throws ConfigError when a component cannot be made.
  /// @param host  outlives the monitor; may be null. It is not called before the constructor is over.
  explicit Monitor(Config config, MonitorHost* host = nullptr);
  ~Monitor() override;
  /// From now on no event gets through and no lens is called; what they told before is still shown. The destructor does
  /// this where nobody did.
  void end_lenses();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  const Config& config() const { return config_; }
  Display& display() { return display_; }
  /// Held around all calls by those with several threads.
  const std::shared_ptr<InspectorMutex>& mutex() const { return mutex_; }
  /// Through which findings, notes and due ticks leave the lenses.
  const std::shared_ptr<Outbox>& outbox() const { return outbox_; }

  /// Makes this process one of a run of several, where the configuration does not say so yet. Before the first tick.
  void join(const Launch& launch);
  /// From now on ticks are shown when `keeper` has put them together with those of other processes. Before the first.
  void keep_ticks(std::unique_ptr<TickKeeper> keeper);

  /// Adds a module, which is watched until it is removed and the next tick is over, and shows it to every lens.
  /// @param model  may be null, for a module outside of any  @param parent  of that model; may be null
  std::shared_ptr<ModuleNode> add_module(ModuleDescription description,
                                         const std::shared_ptr<ModelNode>& model = nullptr,
                                         const ModuleNode* parent = nullptr);
  /// The same in two steps, for a model that is to be whole before a lens sees any of it.
  std::shared_ptr<ModuleNode> take_module(ModuleDescription description, const std::shared_ptr<ModelNode>& model,
                                          const ModuleNode* parent);
  void show_module(ModuleNode& module);
  /// No event of the module gets through any more. What it gathered still shows at the next tick; with nothing
  /// gathered it is forgotten at once.
  void remove_module(const std::shared_ptr<ModuleNode>& module);
  /// Tells the visualizers of a model whose modules were added.
  void announce(const ModelNode& model);
  const std::vector<std::shared_ptr<ModuleNode>>& modules() const { return modules_.all(); }
  const std::vector<std::unique_ptr<LensNode>>& lenses() const { return lenses_; }

  /// Whether the present epoch is looked at.
  bool active() const { return schedule_.active(); }
  void set_active(LookSchedule::ActiveWhen when);
  /// Whether the present step is looked at; where `attach` says neither `every` nor `budget`, all are.
  bool looks() const { return schedule_.looks(); }
  /// Whether steps are to be counted also while nobody looks.
  bool counts_every_step() const { return clock_.is_automatic() || config_.every > 1 || config_.budget > 0; }
  /// What the summary says of it: ", looks at one step in 20"; empty where all are looked at.
  std::string sampling_words() const { return schedule_.words(); }

  /// A number of the trainer's, for the lenses; ignored in epochs that are not active.
  void push(const std::string& label, double value, uint32_t flags);
  /// Something happened that belongs on the time axis: kind is a LOUPE_NOTE_. Any thread.
  /// @param finding  the number of the one that it is about; 0 for none
  void note(uint32_t kind, const std::string& text, uint64_t finding = 0);
  /// @param reason  a LOUPE_TICK_  @param flags  LOUPE_TICK_INCOMPLETE
  void tick(std::optional<double> epoch, uint32_t reason = LOUPE_TICK_EPOCH, uint32_t flags = 0);
  bool has_ticked() const { return tick_ > 1; }
  double epoch() const { return epoch_; }
  uint64_t step() const { return step_; }
  /// After each optimizer step: tells the lenses that want to know, if it is looked at, and the visualizers a few times
  /// a second. @param counts  it is one of the run's clock
  void note_step(const loupe_optimizer* optimizer = nullptr, bool counts = true);
  /// After note_step, once every model that the step concerns has noted it: chooses whether the next step is looked at,
  /// and tells the host where a tick is due. @param seen  a tap saw the step, or the trainer told it
  void end_step(bool seen = true);
  /// Ticks if run.tick says that it is time. Returns whether it did.
  bool tick_if_due();
  /// At the end of the run, where ticks come by themselves: shows what no tick has shown, as incomplete.
  void tick_rest();
  /// Ends the run: shows what no tick has shown, as incomplete, and ends the visualizers. Later findings do not reach
  /// the host, and later events are ignored. Throws nothing.
  /// @param how  a LOUPE_END_  @param message  may be null
  void end(uint32_t how, const char* message);
  /// The run goes on after so many steps. Before the first of them.
  void begin_after(uint64_t steps);
  void set_epochs(double epochs) { epochs_ = epochs; }
  /// The next epoch is `first`, unless its tick says otherwise.
  void begin_epochs_at(double first) { epoch_ = first - 1; }

  /// Takes a finding of a lens, or of the host's own, and shows it at the next step or tick. Any thread.
  void publish(const loupe_finding& finding, const std::string& speaker) override;
  /// What was found so far.
  const FindingBoard& findings() const { return findings_; }
  /// Writes the last steps of all that is measured into a folder of the run's, and returns it. Where that fails, the
  /// user is told why and the text is empty.
  std::string dump(const std::string& why);
  /// Where visualizers put their files, in place of the configuration's run.dir.
  void set_directory(const std::string& directory);
  /// What an earlier run left at the option `path` of these is kept when this run begins to write; see RunFolder.
  void expect_files_of(const std::vector<ComponentConfig>& visualizers) { folder_.expect_files_of(visualizers); }
  std::optional<double> query(const std::string& key);

 private:
  // What lenses and other components ask of their surroundings.
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

  void read_baseline();
  /// Of plugins: those that are new, as lenses may ask for more plugins at any time.
  void tell_problems();
  void begin_epoch();
  /// Shows what waits in the outbox. Between the calls of components.
  void show_messages();
  void show_finding(const loupe_finding& finding);
  void tick_now(std::optional<double> epoch, uint32_t reason, uint32_t flags);
  void report(uint32_t reason, uint32_t flags);
  void note_step_now(const loupe_optimizer* optimizer, bool counts);
  void tell_optimizer(const loupe_optimizer& optimizer);
  void show_progress();
  void tell_error(const loupe_finding& finding) const;
  /// What came of the numbers of all processes of the run.
  void show_complete(TickKeeper::Complete complete);
  /// To the process that shows the run, of a visualizer here.
  void tell_fault();
  /// The same of those that are found out by the end, and then the rest.
  void finish_ticks();
  void judge_departures();
  void judge_costs();
  void write_trace();
  void tell_short_trace();
  bool writes_incidents() const { return config_.incidents > 0 && folder_.is_own(); }
  void write_due_incident();
  std::string write_incident(const IncidentCause& cause);
  void keep_incident(const IncidentCause& cause);
  loupe_moment moment(double epoch) const;
  /// The one that is over, in a tick; else the one being trained.
  double epoch_at_hand() const { return in_tick_ ? epoch_ : epoch_ + 1; }

  bool is_open() const;
  bool is_over() const { return life_ == Life::ended || !has_lenses_; }
  bool is_early() const { return epochs_ > 0 && epoch_ < epochs_; }
  loupe_ending ending(uint32_t how, const char* message) const;
  void call_is_over();
  void process_ends(const ProcessEnd& end);

  // Members are destroyed from the last to the first. First of all what other threads and components may use as long as
  // they live: the outbox, the modules and the run's clock.
  const std::shared_ptr<InspectorMutex> mutex_ = std::make_shared<InspectorMutex>();
  const std::shared_ptr<Outbox> outbox_ = std::make_shared<Outbox>();
  MonitorHost nobody_;
  MonitorHost* host_ = &nobody_;
  Config config_;
  std::atomic<uint64_t> step_{0};
  ModuleTable modules_;
  Exclusive serial_;

  // Visualizers end before the folder is free for other runs.
  OutputFolder folder_;
  Display display_;
  FindingBoard findings_;
  Incidents incidents_;
  std::optional<BaselineWatch> baseline_;

  TimedSteps timed_{modules_, config_.trace_steps, config_.trace_after};
  LookSchedule schedule_;
  TickClock clock_;
  int64_t tick_ = 1;
  double epoch_ = 0, epochs_ = 0, first_epoch_ = 0;
  bool in_tick_ = false;
  std::optional<uint64_t> incident_step_;  // of the last one
  bool step_counted_ = false;              // since the last end_step
  double last_tick_;                       // as steady_time tells it
  uint64_t steps_ = 0, steps_before_ = 0;  // since the last tick, and in the one before
  uint64_t newest_optimizer_ = 0;
  std::set<std::string> optimized_models_;  // whose first optimizer was told
  std::chrono::steady_clock::time_point start_, epoch_start_, last_progress_;
  std::size_t told_problems_ = 0;

  std::unique_ptr<TickKeeper> keeper_;  // where the run has several processes

  // Lenses use all of the above as they end.
  std::vector<std::unique_ptr<LensNode>> lenses_;

  int calls_ = 0;  // that are on, one within another
  struct CallCount {
    explicit CallCount(int& count) : count_(count) { ++count_; }
    ~CallCount() { --count_; }
    int& count_;
  };
  enum class Life { runs, ends, ended } life_ = Life::runs;
  bool has_lenses_ = true;  // until end_lenses
  LastWords last_words_;
  // Last: at the end of the process it calls a monitor that must be whole.
  std::unique_ptr<AbnormalEnd> abnormal_end_;
};

}  // namespace loupe
