#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loupe/config_error.h"
#include "loupe/finding.h"
#include "loupe/loops.h"
#include "loupe/version.h"

namespace at {
class Tensor;
}
namespace c10d {
class Store;
}
namespace torch::jit {
struct Module;
}
namespace torch::nn {
class Module;
}
namespace torch::optim {
class Optimizer;
}

namespace loupe {

/// How often an inspector looks: every n-th epoch (n, 2n, …), or a predicate of the tick's number.
using ActiveWhen = std::function<bool(int64_t tick)>;

/// The trainer's interface: watches models learn and reports at every tick.
///
///     auto inspector = loupe::Inspector::from_yaml("monitor.yaml");
///     inspector.attach(*model, optimizer);
///     for (int epoch : inspector.epochs(20)) { /* the training loop, unchanged */ }
///
/// Any thread may call a member: one lock lets them through one after another, so that two threads may attach their
/// models at once. Models may train on other threads meanwhile. Only with `attach: {taps: explicit}` no backward pass
/// of a model may run while it is attached. Nothing here stops training unless the YAML says `on_error: stop`.
class LOUPE_API Inspector {
 public:
  /// Reads a configuration file, loads the plugins and makes the components. Throws ConfigError with every fault found.
  static Inspector from_yaml(const std::string& path);
  /// The same from text; `name` stands for the file in messages, and relative paths start at the working directory.
  static Inspector from_text(const std::string& text, const std::string& name = "<text>");

  Inspector(Inspector&&) noexcept;
  Inspector& operator=(Inspector&&) noexcept;
  /// Detaches everything and ends the visualizers. Warns of values that came after the last tick, which are not shown,
  /// unless an exception ends it or has left its loop: the run then counts as failed, and they are shown as an epoch
  /// that is incomplete. So they are where the process ends by exit(), SIGINT or SIGTERM.
  ~Inspector();

  /// Taps `model`, and `optimizer` where there is one. Several models may be attached at once, each under its own name,
  /// which then begins its layers' names. Prints a summary of what is tapped and what is not. The model may be
  /// destroyed at any time; it is not kept alive. Throws std::invalid_argument for a name that is taken.
  void attach(torch::nn::Module& model, const std::string& name = "");
  void attach(torch::nn::Module& model, torch::optim::Optimizer& optimizer, const std::string& name = "");
  /// The same for several optimizers of one model: `attach(*model, {encoder_optimizer, decoder_optimizer})`.
  void attach(torch::nn::Module& model, const std::vector<std::reference_wrapper<torch::optim::Optimizer>>& optimizers,
              const std::string& name = "");
  /// The same for a TorchScript module, as torch::jit::load gives it: parameters, their gradients and updates, and the
  /// results of its modules and functions under their names; gradients of results are not seen.
  void attach(const torch::jit::Module& model, const std::string& name = "");
  void attach(const torch::jit::Module& model, torch::optim::Optimizer& optimizer, const std::string& name = "");
  void attach(const torch::jit::Module& model,
              const std::vector<std::reference_wrapper<torch::optim::Optimizer>>& optimizers,
              const std::string& name = "");
  /// One more optimizer, for whichever attached models it holds parameters of. One that is made half way in the place
  /// of another needs no call: it is known by its parameters. A warning at the first tick names the parameters that
  /// require gradients and that no optimizer holds. Throws std::invalid_argument if it holds none of any model's.
  void attach_optimizer(torch::optim::Optimizer& optimizer);
  /// Watches a loss module, such as torch::nn::CrossEntropyLoss, for lenses that show it (`loss_metrics: {loss_fn:
  /// true}`).
  void attach_loss(torch::nn::Module& loss, const std::string& name = "loss_fn");
  /// Lets go of one model, or of all. What they gathered since the last tick still shows at the next.
  void detach(const std::string& name);
  void detach();

  /// Makes this process one of `world_size` that train together and are one run, where no launcher says so (torchrun,
  /// mpirun and srun do), or where they are to meet through a store of the trainer's: rank 0 shows the numbers of all.
  /// Of a TCPStore and a FileStore another client is opened; others are used beside the trainer, and kept. In all
  /// processes in the same order, before the first tick; else throws std::logic_error. Nothing is done where the
  /// configuration says `ranks: off`. Throws std::invalid_argument for a rank that is none.
  void attach_ranks(c10d::Store& store, int rank, int world_size);

  /// Files a loss under the training or validation name. `keep` stores every value instead of folding it.
  void push_loss(double value, bool train, bool keep = false);
  /// The same from a tensor of one element: nothing waits for its device before the tick.
  void push_loss(const at::Tensor& value, bool train, bool keep = false);
  /// Files a number of the trainer's own, such as an accuracy.
  void push_metric(const std::string& name, double value, bool keep = false);
  /// For weights updated by hand, without an optimizer or past it: parameter differences are taken here.
  void optimizer_stepped();
  /// Makes a value of the model visible to lenses that watch attributes: `get` is called at each forward of the module
  /// at `path` (dotted; "" is the model) and may return an undefined tensor. Before attach.
  void expose(const std::string& path, const std::string& attribute, std::function<at::Tensor()> get);

  /// Ends an epoch: lenses report to the visualizers and start anew. Without a number, one more than the last; inside
  /// of a loop over epochs() the turn's. Throws std::invalid_argument for a number that is not finite, or beyond 2^53.
  void tick_epoch();
  void tick_epoch(double epoch);
  /// A range over the next `count` epochs, from 1 at first, that ticks after each turn that did not tick itself.
  /// Leaving it early ticks none. To stop early on this turn's loss, tick inside:
  ///
  ///     for (int epoch : inspector.epochs(100)) {
  ///       /* train, validate */
  ///       inspector.tick_epoch();  // this turn's tick, now
  ///       if (inspector.loss(/*train=*/false) > limit) break;
  ///     }
  Epochs epochs(int count);
  /// The same from `first` to `last`, as a trainer needs that goes on from a checkpoint. Warns where they begin past 1
  /// and the configuration does not say `run: {resume: true}`.
  Epochs epochs(int first, int last);

  /// The same for loops that count steps: a range over the next `count` turns. Ticks come by themselves at the
  /// optimizer's steps, as `run: {tick: {steps: 500}}` or `{seconds: 30}` says: at the end of a step that runs on the
  /// thread that called the inspector last, else at the next call of a member. After the last turn, or the one in which
  /// a finding stops the loop, what no tick has shown is ticked as incomplete; leaving it early leaves that to the
  /// inspector's end. Where no optimizer is attached the turns are the steps.
  Steps steps(std::int64_t count);
  /// The same from `first` to `last`, for a resumed run.
  Steps steps(std::int64_t first, std::int64_t last);

  /// After a tick: an aggregation ("mean", "median", …) of its training or validation loss; nullopt when there was
  /// none. Between ticks it is the last tick's. Throws std::invalid_argument for an aggregation that there is not.
  std::optional<double> loss(bool train, const std::string& aggregation = "mean") const;
  /// After a tick: a value as reported; nullopt when it was not.
  std::optional<double> value(const std::string& tag, const std::string& layer, const std::string& line) const;

  /// What lenses have found wrong so far, in the order in which it was first told; `state` says what is over.
  std::vector<Finding> findings() const;
  /// Calls with each finding that is raised, changes or goes, at the end of the step or tick that brought it and while
  /// no lock is held. The callback may do what the trainer may: run and train models, tick, attach, detach, join
  /// threads that train, and replace itself. What is found meanwhile is told when it returns. What it throws comes out
  /// of that tick or the next push or tick, as what the YAML's `on_finding: {error: throw}` throws does. It is also
  /// called as the inspector ends. Replaces the callback before; an empty one ends it.
  void on_finding(std::function<void(const Finding&)> callback);
  /// True once a finding came that the YAML's `on_finding` answers with `stop`; a loop over epochs() or steps ends
  /// after its turn by itself.
  bool should_stop() const;
  /// Writes what the last 64 steps of every stream measured, the findings, the configuration and the learning rates
  /// into `run.dir`/incident-STEP, as the first error of each rule does by itself, and returns that folder; `loupe
  /// replay FOLDER` shows it. Empty, after a warning, without a run.dir, beyond the number that `run.incidents` allows,
  /// and where the folder cannot be written.
  std::string dump(const std::string& why);
  /// Adds a note to the time axis: "switched to the second data set". Any thread.
  void note(const std::string& text);
  /// Adds a setting of the run, for visualizers that show or compare it. The same name again replaces it.
  void set_hyperparameter(const std::string& name, double value);
  void set_hyperparameter(const std::string& name, const std::string& value);

  /// Replaces the YAML's `attach.active`. The count of ticks starts at 1.
  void set_active(ActiveWhen when);
  bool is_active() const;
  /// Replaces the YAML's `run.dir`, for a trainer that decides itself where its runs go. Before the first tick; later
  /// only visualizers that join hear of it.
  void set_directory(const std::string& directory);
  /// Replaces the visualizers while running: YAML of the list, as in a configuration. They receive every tag so far.
  void set_visualizers(const std::string& yaml);

  /// One line per module: tapped or not and why. Valid after attach.
  std::string coverage() const;

  /// The number of redirected calls of the process, for all inspectors together; 0 when nothing is attached.
  static std::size_t redirected_calls();

  class Impl;

 private:
  friend class Epochs::Iterator;
  friend class Steps::Iterator;
  friend class host_detail::LoopScope;
  friend struct ProgramInspector;
  void end();
  bool end_turn(int epoch, bool is_last);
  bool end_step(bool is_last);
  void left_loop(bool of_epochs, bool by_exception) noexcept;

  explicit Inspector(std::unique_ptr<Impl> impl);
  /// Throws std::logic_error if it was moved from, like every call of such an inspector.
  Impl& impl() const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace loupe
