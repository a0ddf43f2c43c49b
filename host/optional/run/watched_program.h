#pragma once

#include <torch/nn/module.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "config/config.h"
#include "core/locks.h"
#include "loupe/inspector.h"
#include "run/bare_parameters.h"
#include "run/batch_rows.h"
#include "run/epoch_clock.h"
#include "run/model_search.h"
#include "run/program_losses.h"

namespace torch::jit {
struct Module;
}
namespace torch::optim {
class Optimizer;
class OptimizerParamGroup;
}  // namespace torch::optim

namespace loupe {

using ProgramMutex = OrderedMutex<std::recursive_timed_mutex, LockRank::program>;

/// A program that knows nothing of Loupe: attaches the models that its optimizers hold, and guesses its losses and
/// epochs. Call each member under the mutex; on any thread.
class WatchedProgram {
 public:
  explicit WatchedProgram(std::unique_ptr<WatchedProgram> parent = nullptr) : parent_(std::move(parent)) {}
  ProgramMutex& mutex() { return mutex_; }
  /// Whether forwards must be observed: an optimizer's models are not known yet. Without the mutex.
  bool waits() const { return waits_.load(std::memory_order_relaxed); }

  void module_used(torch::nn::Module& module);
  void mode_set(torch::nn::Module& module, bool trains);
  void group_added(const torch::optim::Optimizer* optimizer, const torch::optim::OptimizerParamGroup& group);
  void before_forward(torch::nn::Module& module);
  void before_script(const torch::jit::Module& script);
  void before_clearing(const torch::optim::Optimizer& optimizer);
  void before_step(const torch::optim::Optimizer& optimizer);
  void after_step(const torch::optim::Optimizer& optimizer);
  void before_backward(const at::Tensor& loss, const void* place);
  void after_backward();
  void computed(const at::Tensor& loss, const char* function);
  void evaluated(const at::Tensor& loss, const char* function, const void* place);
  void order_begins(const void* order, bool is_loader);
  void scheduled();
  /// Shows the last epoch, and ends the record.
  void finish();
  /// Loupe failed: the program continues without it.
  void give_up(const std::string& why);
  /// Marks this process as a forked child: state inherited from the parent is not touched.
  void leave_parent();

 private:
  struct Attached {
    std::string name, kind;
    torch::nn::Module* module;  // only to compare with
    std::weak_ptr<torch::nn::Module> owner;
    bool is_owned;
    ParameterSet parameters;
    int training;  // models trained by one optimizer have the same number
  };
  /// An optimizer and its parameters.
  struct Optimizer {
    void take(const std::vector<at::Tensor>& given) {
      for (const at::Tensor& each : given) {
        if (parameters.insert(each.unsafeGetTensorImpl()).second) order.push_back(each.unsafeGetTensorImpl());
      }
    }
    ParameterSet parameters;
    std::vector<const c10::TensorImpl*> order;  // the order in which it got them
    std::size_t size = 0;                       // its size at the last check
    bool waits = true;
    std::uint64_t steps = 0;
    std::uint64_t first_step = 0, last_step = 0;  // numbers among the steps of all optimizers
    using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
    std::vector<std::pair<BareParameter, WeakTensor>> strangers;  // outside models; the tensor is the second member
    bool is_idle = false;  // a finding reports that a different instance runs than the one it holds
  };

  Inspector& inspector();
  void count_as(TickRule& tick);
  /// Writes a guess to the record and the report, with the option of run_program that corrects it, if any. Logs it at
  /// once, unless the program's first lines sum it up.
  void tell(const std::string& guess, const char* option, bool is_in_first_lines = false);
  Optimizer& optimizer_at(const torch::optim::Optimizer* optimizer);
  void know(const torch::optim::Optimizer& optimizer);
  void take_strangers(const torch::optim::Optimizer& optimizer);
  std::vector<BareParameter> strangers_of(const torch::optim::Optimizer& optimizer) const;
  void attach_bare(const torch::optim::Optimizer& optimizer, const std::vector<BareParameter>& strangers);
  /// Whether parameters of the optimizer took the place of others of the model.
  bool adopt(BareModel& bare, const std::vector<BareParameter>& strangers);
  /// Watches the tensors that a bare model has now.
  void follow(BareModel& bare, const torch::optim::Optimizer& optimizer);
  /// Attaches the models of waiting optimizers; parts of them only if `all_there_is`.
  void settle(bool all_there_is);
  void attach(const FoundModel& model, int training, const std::string& why);
  /// Logs the first of the models that a program makes in turn; the others would be a line each.
  void tell_of_model(const std::string& name, const std::string& kind, const std::string& why);
  void detach_dead(const FoundModel& next);
  ParameterSet without_attached(const ParameterSet& parameters) const;
  void set_waiting();
  /// Reports after the program's first step the watched models and the end of an epoch.
  void tell_first_lines();
  /// The number of the training that parameters belong to; a new one where no attached model has any of them.
  int training_of(const ParameterSet& parameters);
  std::size_t trainings() const;
  void end_due_epoch();
  /// Reports an optimizer whose model was made twice and whose instance does not run. Returns whether it is one.
  bool tell_of_twin(const torch::optim::Optimizer& optimizer);
  void tell_unobserved();
  void tell_models_in_turn();
  void end_epoch(bool is_broken_off = false);
  void show_epochs();

  ProgramMutex mutex_;
  std::unique_ptr<WatchedProgram> parent_;
  RunProgramSection section_;
  std::optional<Inspector> inspector_;
  std::optional<EpochClock> clock_;
  std::optional<BatchRows> rows_;                           // while they may show where epochs end
  std::vector<std::pair<const void*, bool>> early_orders_;  // orders that began before the clock, in the first epoch
  std::optional<ProgramLosses> losses_;
  bool wants_leaves_ = false;     // an optimizer has new parameters
  std::vector<LossLeaf> leaves_;  // the parameters of the loss before the first step
  ModelSearch modules_;
  std::vector<std::shared_ptr<torch::nn::Module>> scripts_;  // models of scripts that ran, while the scripts live
  std::deque<std::pair<const torch::optim::Optimizer*, Optimizer>> optimizers_;  // in order of creation
  std::vector<Attached> attached_;
  std::deque<std::shared_ptr<BareModel>> bare_;  // owned here: no module of the program's holds them
  std::unordered_map<std::string, int> names_;   // how many models of each kind were attached
  std::set<std::string> in_turn_;                // kinds whose models follow each other
  std::uint64_t steps_ = 0;                      // steps of all optimizers
  int epochs_ = 0;                               // finished epochs
  bool is_shown_ = true;                         // the last epoch was shown
  std::uint32_t reason_ = 0;                     // the reason LOUPE_TICK_ of the last epoch
  int last_training_ = 0;
  std::uint64_t unseen_steps_ = 0;                        // counted by the clock
  std::vector<std::string> first_models_, first_losses_;  // names for the first lines
  double first_epoch_ = 1;
  bool has_told_first_lines_ = false;
  std::atomic<bool> waits_{false};
  bool any_news_ = false;  // a module or an optimizer is new since the last search for models
};

}  // namespace loupe
