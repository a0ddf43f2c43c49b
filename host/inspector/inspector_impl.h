#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/forks.h"
#include "inspector/attachments.h"
#include "inspector/deferred_losses.h"
#include "inspector/due_ticks.h"
#include "inspector/epoch_loop.h"
#include "inspector/finding_policy.h"
#include "inspector/loss_graphs.h"
#include "inspector/run_clock.h"
#include "inspector/step_loop.h"
#include "inspector/trainer_calls.h"
#include "loupe/inspector.h"
#include "pipeline/monitor.h"
#include "timing/step_timer.h"

namespace loupe {

/// An inspector: a monitor, and one class for each of the jobs around it. Its members are called within enter, which
/// holds the mutex.
class Inspector::Impl final : public MonitorHost {
 public:
  explicit Impl(Config config);
  /// Ends the run. Before the destructor, while the trainer's callback may still use the inspector.
  void finish();
  /// In a forked process: nothing of the parent's is watched, written or destroyed there.
  bool is_of_parent() const { return forks_ != forks_of_process(); }

  /// Every member of the inspector's comes in here. In a forked child it does nothing; afterwards, when no lock is
  /// held, what lenses found is delivered.
  template <class Call>
  std::invoke_result_t<Call> enter(Call&& call) {
    return enter_unlocked([&] {
      const std::lock_guard lock(*monitor_.mutex());
      return call();
    });
  }
  /// The same for what may be called while another thread holds the mutex.
  template <class Call>
  std::invoke_result_t<Call> enter_unlocked(Call&& call) {
    if (is_of_parent()) {
      warn_of_parent();
      return std::invoke_result_t<Call>();
    }
    const LoupeTime time;
    const Delivery after{monitor_.outbox()};
    return call();
  }
  /// The same as enter; what the callback threw, or the configuration says to throw, is thrown.
  template <class Call>
  void enter_and_throw(Call&& call) {
    const auto outbox = is_of_parent() ? nullptr : monitor_.outbox();  // the callback may end the inspector
    enter(call);
    if (outbox != nullptr) outbox->rethrow();
  }

  void attach(torch::nn::Module& model, const std::vector<torch::optim::Optimizer*>& optimizers,
              const std::string& name, bool is_loss, bool awaits_optimizers = false);
  void attach_optimizer(torch::optim::Optimizer& optimizer);
  void attach_ranks(c10d::Store& store, int rank, int world_size);
  void detach(const std::string& name);
  void optimizer_stepped();

  void push(const std::string& label, double value, uint32_t flags);
  void push_tensor(const std::string& label, const at::Tensor& value, uint32_t flags);
  void tell_kept_graphs();
  /// Takes a finding of the host's own.
  void publish(const Finding& finding);
  const std::string& loss_name(bool train) const;
  std::optional<double> loss(bool train, const std::string& aggregation);

  /// Whether an epoch, or a turn of the loop over steps, follows.
  bool begin_next_epoch(int epoch, bool is_last);
  bool begin_next_turn(bool is_last);

  std::vector<Finding> findings() const;
  void set_hyperparameter(const std::string& name, loupe_option_value value);
  void set_visualizers(const std::string& yaml);

  Monitor& monitor() { return monitor_; }
  Attachments& attachments() { return attachments_; }
  EpochLoop& epochs() { return epochs_; }
  StepLoop& steps() { return steps_; }
  TrainerCalls& calls() { return calls_; }
  const FindingPolicy& policy() const { return policy_; }

 private:
  struct Delivery {
    std::shared_ptr<Outbox> outbox;
    ~Delivery() { outbox->deliver(); }
  };

  // What the monitor asks for.
  void before_tick() override;
  std::vector<const loupe_optimizer*> optimizers() override { return attachments_.optimizers(); }
  void looking_changed() override { attachments_.follow_looking(); }
  void tick_due() override { due_.step_ended(); }
  void finding_told(const loupe_finding& finding) override { policy_.answer(finding); }
  SaveTensor tensor_saver() override;

  void warn_of_parent();
  void warn_of_unthrown();

  const uint64_t forks_ = forks_of_process();  // when this was made
  std::atomic<bool> warned_of_parent_{false};
  // In the order in which they build on each other. None uses the monitor in its constructor or destructor: it comes
  // last, and so is destroyed first, since it calls all of them until its end.
  TrainerCalls calls_;
  Attachments attachments_{monitor_};
  DeferredLosses losses_{monitor_};
  LossGraphs loss_graphs_;
  FindingPolicy policy_{monitor_};
  RunClock clock_{monitor_, attachments_};
  DueTicks due_{monitor_, clock_, calls_};
  EpochLoop epochs_{monitor_, due_, calls_};
  StepLoop steps_{monitor_, attachments_, epochs_, due_, calls_};
  Monitor monitor_;
};

}  // namespace loupe
