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

/// Chooses the epochs that an inspector measures: every n-th (n, 2n, …), or a predicate of the tick's number.
using ActiveWhen = std::function<bool(int64_t tick)>;

/// The trainer's interface: watches models learn and reports at every tick.
///
///     auto inspector = loupe::Inspector::from_yaml("monitor.yaml");
///     inspector.attach(*model, optimizer);
///     for (int epoch : inspector.epochs(20)) { /* the training loop, unchanged */ }
///
/// Any thread may call a member: one lock serializes them, so two threads may attach their models at once. Models may
/// train on other threads meanwhile. Only with `attach: {taps: explicit}` no backward pass of a model may run while it
/// is attached. Nothing here stops training unless the YAML says `on_error: stop`.
class LOUPE_API Inspector {
 public:
  /// Reads a configuration file, loads plugins and creates components. Throws ConfigError with every fault found.
  static Inspector from_yaml(const std::string& path);
  /// The same from text; `name` stands for the file in messages, and relative paths start at the working directory.
  static Inspector from_text(const std::string& text, const std::string& name = "<text>");

  Inspector(Inspector&&) noexcept;
  Inspector& operator=(Inspector&&) noexcept;
  /// Detaches everything and ends the visualizers. Warns of values after the last tick, which are not shown. If an
  /// exception ends it or has left its loop, the run counts as failed, and they are shown as an incomplete epoch; so
  /// they are if the process ends by exit(), SIGINT or SIGTERM.
  ~Inspector();

  /// Taps `model`, and `optimizer` if given. Without one, and with `attach: {find: true}`, optimizers are found as they
  /// step, and losses where backward() is called; a loss that is pushed replaces a found one of its kind. Several
  /// models may be attached at once, each under its own name, which becomes the prefix of its layers' names. Prints
  /// the tapped modules. Does not keep the model alive. Throws std::invalid_argument for a name in use.
  void attach(torch::nn::Module& model, const std::string& name = "");
  void attach(torch::nn::Module& model, torch::optim::Optimizer& optimizer, const std::string& name = "");
  /// The same for several optimizers of one model: `attach(*model, {encoder_optimizer, decoder_optimizer})`.
  void attach(torch::nn::Module& model, const std::vector<std::reference_wrapper<torch::optim::Optimizer>>& optimizers,
              const std::string& name = "");
  /// The same for a TorchScript module, as from torch::jit::load: taps parameters, their gradients and updates, and the
  /// results of its modules and functions by name, but no gradients of results.
  void attach(const torch::jit::Module& model, const std::string& name = "");
  void attach(const torch::jit::Module& model, torch::optim::Optimizer& optimizer, const std::string& name = "");
  void attach(const torch::jit::Module& model,
              const std::vector<std::reference_wrapper<torch::optim::Optimizer>>& optimizers,
              const std::string& name = "");
  /// Adds an optimizer, for each attached model whose parameters it holds. A later optimizer of the same parameters
  /// needs no call. A warning at the first tick names the parameters that require gradients and that no optimizer
  /// holds. Throws std::invalid_argument if it holds no parameter of any model.
  void attach_optimizer(torch::optim::Optimizer& optimizer);
  /// Watches a loss module, such as torch::nn::CrossEntropyLoss, for lenses that show it (`loss_metrics: {loss_fn:
  /// true}`).
  void attach_loss(torch::nn::Module& loss, const std::string& name = "loss_fn");
  /// Detaches one model, or all. Their values since the last tick are shown at the next.
  void detach(const std::string& name);
  void detach();

  /// Makes this process one of `world_size` that train together as one run, whose values rank 0 shows. Needed
  /// without a launcher (torchrun, mpirun, srun), or to exchange values through the trainer's store. Opens another
  /// client of a TCPStore or FileStore; other stores are shared with the trainer, and kept. Call in all processes in
  /// the same order, before the first tick, or it throws std::logic_error. Does nothing with `ranks: off` in the
  /// configuration. Throws std::invalid_argument for an invalid rank.
  void attach_ranks(c10d::Store& store, int rank, int world_size);

  /// Pushes a training or validation loss. `keep` stores every value instead of aggregating.
  void push_loss(double value, bool train, bool keep = false);
  /// The same from a tensor of one element, which is read from its device at the tick.
  void push_loss(const at::Tensor& value, bool train, bool keep = false);
  /// Pushes another value, such as an accuracy.
  void push_metric(const std::string& name, double value, bool keep = false);
  /// Call it after updating weights without an optimizer: parameter differences are measured here.
  void optimizer_stepped();
  /// Makes a value of the model visible to lenses that watch attributes: `get` is called at each forward of the module
  /// at `path` (dotted; "" is the model) and may return an undefined tensor. Call it before attach.
  void expose(const std::string& path, const std::string& attribute, std::function<at::Tensor()> get);

  /// Ends an epoch: lenses report to the visualizers and are reset. Without a number, the epoch is that of the loop
  /// over epochs(), else one more than the last. Throws std::invalid_argument for a number that is not finite, or
  /// beyond 2^53.
  void tick_epoch();
  void tick_epoch(double epoch);
  /// A range over the next `count` epochs, from 1 at first, that ticks after each turn that did not tick itself.
  /// Leaving it early does not tick. To stop early on this turn's loss, tick inside:
  ///
  ///     for (int epoch : inspector.epochs(100)) {
  ///       /* train, validate */
  ///       inspector.tick_epoch();  // this turn's tick, now
  ///       if (inspector.loss(/*train=*/false) > limit) break;
  ///     }
  Epochs epochs(int count);
  /// The same from `first` to `last`, for a trainer that resumes from a checkpoint. Warns if they begin after 1 without
  /// `run: {resume: true}` in the configuration.
  Epochs epochs(int first, int last);

  /// The same for loops that count steps: a range over the next `count` turns. Automatic ticks come at the optimizer's
  /// steps by `run: {tick: {steps: 500}}` or `{seconds: 30}`: at the end of a step on the thread that called the
  /// inspector last, else at the next call of a member. After the last turn, or when a finding stops the loop, the rest
  /// is shown as an incomplete tick; leaving the loop early leaves that to the inspector's end. Without an attached
  /// optimizer the turns are the steps.
  Steps steps(std::int64_t count);
  /// The same from `first` to `last`, for a resumed run.
  Steps steps(std::int64_t first, std::int64_t last);

  /// An aggregation ("mean", "median", …) of the last tick's training or validation loss; nullopt if there was none.
  /// Throws std::invalid_argument for an unknown aggregation.
  std::optional<double> loss(bool train, const std::string& aggregation = "mean") const;
  /// A value as last reported; nullopt if it was never reported.
  std::optional<double> value(const std::string& tag, const std::string& layer, const std::string& line) const;

  /// The findings so far, in the order they were raised; `state` shows which are resolved.
  std::vector<Finding> findings() const;
  /// Sets the callback for each finding that is raised, changed or resolved, called at the end of its step or tick with
  /// no lock held. It may do all that the trainer may: run and train models, tick, attach, detach, join training
  /// threads, and replace itself. Findings during the call follow after it returns. Its exceptions, like those of
  /// `on_finding: {error: throw}`, leave that tick or the next push or tick. It is also called as the inspector ends.
  /// Replaces the earlier callback; an empty one removes it.
  void on_finding(std::function<void(const Finding&)> callback);
  /// True after a finding for which the YAML's `on_finding` says `stop`; a loop over epochs() or steps() then ends
  /// after its turn.
  bool should_stop() const;
  /// Writes the last 64 steps of every stream, the findings, the configuration and the learning rates into
  /// `run.dir`/incident-STEP, as the first error of each rule does automatically, and returns that folder; `loupe
  /// replay FOLDER` shows it. Empty, after a warning, without a run.dir, beyond the number in `run.incidents`, and if
  /// the folder cannot be written.
  std::string dump(const std::string& why);
  /// Adds a note to the time axis: "switched to the second data set". Any thread.
  void note(const std::string& text);
  /// Adds a setting of the run, for visualizers that show or compare it. One with the same name replaces it.
  void set_hyperparameter(const std::string& name, double value);
  void set_hyperparameter(const std::string& name, const std::string& value);

  /// Replaces the YAML's `attach.active`. The count of ticks starts at 1.
  void set_active(ActiveWhen when);
  bool is_active() const;
  /// Replaces the YAML's `run.dir`, for a trainer that chooses its own folders. Call it before the first tick; later it
  /// affects only visualizers that are added.
  void set_directory(const std::string& directory);
  /// Replaces the visualizers while running: YAML of the list, as in a configuration. They receive every tag so far.
  void set_visualizers(const std::string& yaml);

  /// One line per module: tapped or not and why. Valid after attach.
  std::string coverage() const;

  /// The number of redirected calls of the process, for all inspectors together; 0 if nothing is attached.
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
