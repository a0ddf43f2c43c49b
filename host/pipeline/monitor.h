#ifndef LOUPE_PIPELINE_MONITOR_H
#define LOUPE_PIPELINE_MONITOR_H

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "core/run_folder.h"
#include "pipeline/abnormal_end.h"
#include "pipeline/baseline_watch.h"
#include "pipeline/black_box.h"
#include "pipeline/budget.h"
#include "pipeline/finding_board.h"
#include "pipeline/incident.h"
#include "pipeline/lens_node.h"
#include "pipeline/module_node.h"
#include "pipeline/sampling.h"
#include "show/display.h"

namespace loupe {

/// A model as the taps describe it to visualizers.
struct ModelDescription {
  std::string name, type;
  int64_t parameter_elements = 0;
  std::vector<std::shared_ptr<ModuleNode>> modules;  ///< parents before children
};

/// An inspector without LibTorch: the lenses and visualizers of one configuration, the modules they watch, and the
/// clock of steps and epochs. Calls come one at a time, but for what Stream::dispatch, publish and quarantined say.
class Monitor final : public LensSurroundings {
 public:
  /// Throws ConfigError when a component cannot be made.
  explicit Monitor(Config config);
  ~Monitor() override;
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  const Config& config() const { return config_; }
  Display& display() { return display_; }

  /// Adds a module and shows it to every lens. The node lives until it is removed and the next tick is over.
  std::shared_ptr<ModuleNode> add_module(ModuleDescription description);
  /// No event of the module gets through any more. What it gathered still shows at the next tick; with nothing
  /// gathered it is forgotten at once.
  void remove_module(const std::shared_ptr<ModuleNode>& module);
  /// What an earlier run left at the option `path` of these is kept when this run begins to write; see RunFolder.
  void expect_files_of(const std::vector<ComponentConfig>& visualizers);
  /// Tells the visualizers of a model whose modules were added.
  void announce(const ModelDescription& model);

  bool active() const { return active_; }
  void set_active(std::function<bool(int64_t)> when);
  /// Whether the step that is on is looked at; where `attach` says neither `every` nor `budget`, all are.
  bool looks() const { return active_ && sampling_.looking(); }
  /// Whether steps are to be counted also while nobody looks.
  bool counts_every_step() const { return config_.tick.is_automatic() || config_.every > 1 || config_.budget > 0; }
  /// What the summary says of it: ", looks at one step in 20"; empty where all are looked at.
  std::string sampling_words() const;
  /// When that changes at the end of a step. What compares has begun anew, and wants to be primed where `looks()`.
  void set_on_look(std::function<void()> call) { on_look_ = std::move(call); }
  /// Nothing happens while inactive. NaN and Inf are counted by the lens, never averaged.
  void push(const std::string& label, double value, uint32_t flags);
  /// Something happened that belongs on the time axis: kind is a LOUPE_NOTE_. Any thread.
  void note(uint32_t kind, std::string text);
  /// Before a tick: what the taps still owe (parameters, deferred pushes).
  void set_before_tick(std::function<void()> call) { before_tick_ = std::move(call); }
  /// When looking begins again after inactive epochs, of all lenses or of some.
  void set_on_resume(std::function<void()> call) { on_resume_ = std::move(call); }
  /// Who knows the attached optimizers as they are now; what it returns is borrowed until the next call.
  void set_optimizers(std::function<std::vector<const loupe_optimizer*>()> ask) { optimizers_ = std::move(ask); }
  /// @param reason  a LOUPE_TICK_  @param flags  LOUPE_TICK_INCOMPLETE
  void tick(std::optional<double> epoch, uint32_t reason = LOUPE_TICK_EPOCH, uint32_t flags = 0);
  double epoch() const { return epoch_; }
  uint64_t step() const { return step_; }
  /// After each optimizer step: tells the lenses that want to know, if it is looked at, and the visualizers a few times
  /// a second. @param counts  it is one of the run's clock
  void note_step(const loupe_optimizer* optimizer = nullptr, bool counts = true);
  /// After note_step, once every model that the step concerns has noted it: chooses whether the next step is looked at,
  /// and calls `on_due` where a tick is due. @param seen  a tap saw the step, or the trainer told it
  void end_step(bool seen = true);
  /// Who sees to it that tick_if_due is called, at a step's end.
  void set_on_due(std::function<void()> call) { on_due_ = std::move(call); }
  /// Ticks if run.tick says that it is time. Returns whether it did.
  bool tick_if_due();
  /// At the end of the run, where ticks come by themselves: shows what no tick has shown, as incomplete.
  void tick_rest();
  /// The run goes on after so many steps. Before the first of them.
  void begin_after(uint64_t steps);
  void set_epochs(double epochs) { epochs_ = epochs; }
  /// The next epoch is `first`, until a tick has another number.
  void begin_epochs_at(double first) { epoch_ = first - 1; }

  /// What was found so far, and who is told of it.
  FindingBoard& findings() { return findings_; }
  const FindingBoard& findings() const { return findings_; }

  /// Writes the last steps of all that is measured into a folder of the run's, and returns it. What hinders that is
  /// told to the user, and the text is empty.
  std::string dump(const std::string& why);
  /// Where visualizers put their files, in place of the configuration's run.dir.
  void set_directory(const std::string& directory);
  /// Who writes tensors, for incidents that are to have them.
  void set_save_tensor(SaveTensor save) { save_tensor_ = std::move(save); }

  std::optional<double> query(const std::string& key);
  const std::vector<std::unique_ptr<LensNode>>& lenses() const { return lenses_; }
  const std::vector<std::shared_ptr<ModuleNode>>& modules() const { return modules_; }

 private:
  // What lenses and other components ask of their surroundings.
  ModuleNode& node_of(const loupe_module* module) override;
  const loupe_module* module_called(const char* name) const override;
  const loupe_run* run() const override { return &display_.c_run(); }
  void publish(const loupe_finding& finding, const std::string& speaker) override;
  bool lend(const loupe_module& module, const std::string& name, bool gradient, const Take& take) override;
  void quarantined(const std::string& message) override;
  void take_finding(const loupe_finding& finding) override;

  /// Of plugins: those that are new, as lenses may ask for more plugins at any time.
  void tell_problems();
  void introduce();
  void take_folder();
  void look_or_not();
  void forget(const ModuleNode& module);
  uint64_t unticked() const;
  void tell_of_unticked() const;
  void keep_to_budget(double now);
  void skip_apart();
  std::vector<Budget::Charge> lens_charges() const;
  void look_at_clock();
  void tell_of_lacking();
  void judge_costs();
  void tell_pending();
  void ask_for_incident(const loupe_finding& finding);
  /// Incidents that came up while components were called, and an end that was asked for by a signal.
  void write_incidents();
  std::string write_incident(const IncidentCause& cause);
  bool has_own_folder() const;
  void judge_departures();
  double elapsed() const;
  /// The one that is over, in a tick; else the one being trained.
  double epoch_at_hand() const { return in_tick_ ? epoch_ : epoch_ + 1; }

  Config config_;
  std::atomic<uint64_t> step_{0};
  Exclusive serial_;
  RunFolder folder_;  // free for others once the display has ended
  std::optional<std::string> taken_;
  std::vector<std::string> files_;
  bool kept_older_ = false;
  Display display_;
  FindingBoard findings_;
  BlackBox black_box_;
  SaveTensor save_tensor_;
  std::optional<BaselineWatch> baseline_;
  std::shared_ptr<ModuleNode> pushes_;
  std::vector<std::shared_ptr<ModuleNode>> modules_;
  std::unordered_map<uint64_t, ModuleNode*> modules_by_id_;
  std::unordered_map<std::string, const loupe_module*> modules_by_name_;
  std::vector<std::unique_ptr<LensNode>> lenses_;
  bool has_new_modules_ = true;  // lenses may have tags to tell
  std::size_t told_problems_ = 0;
  uint64_t next_id_ = 1;
  int64_t tick_ = 1;
  double epoch_ = 0, epochs_ = 0, first_epoch_ = 0;
  bool active_ = true, in_tick_ = false;
  std::function<bool(int64_t)> active_when_;
  std::function<void()> before_tick_, on_resume_;
  std::function<std::vector<const loupe_optimizer*>()> optimizers_;
  Sampling sampling_;
  std::optional<Budget> budget_;
  LensNode* apart_ = nullptr;  // the lens that looks at fewer steps than the others
  bool step_counted_ = false;  // since the last end_step
  double step_start_ = 0;      // as steady_time tells it, as ticked_time_
  uint64_t ticked_step_ = 0;   // at the last tick
  double ticked_time_ = 0;
  uint32_t due_ = 0;  // a LOUPE_TICK_, or 0
  std::function<void()> on_look_, on_due_;
  double last_tick_ = 0;                   // as steady_time tells it
  uint64_t steps_ = 0, steps_before_ = 0;  // since the last tick, and in the one before
  std::chrono::steady_clock::time_point start_, epoch_start_, last_progress_;

  std::mutex lenders_mutex_;
  std::unordered_map<uint64_t, decltype(ModuleDescription::lend)> lenders_;  // by module

  // What other threads have to tell waits here for the next step or tick.
  struct Note {
    uint32_t kind;
    std::string text;
    uint64_t step;
    double time;
  };
  std::mutex pending_mutex_;
  std::atomic<bool> has_pending_{false};
  std::vector<Note> pending_notes_;
  std::vector<std::unique_ptr<detail::Owned<loupe_finding>>> pending_findings_;

  std::unique_ptr<AbnormalEnd> abnormal_end_;  // last: told of no monitor that is half gone
};

}  // namespace loupe

#endif
