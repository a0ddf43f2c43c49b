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
#include "inspector/loops.h"
#include "inspector/losses.h"
#include "loupe/inspector.h"
#include "pipeline/monitor.h"
#include "timing/step_timer.h"

namespace loupe {

/// Answers findings by the configuration's `on_finding`, and queues them for the trainer's callback. Under the
/// inspector's mutex.
class FindingPolicy {
 public:
  explicit FindingPolicy(Monitor& monitor) : monitor_(monitor) {}

  /// A finding was raised, has changed or is gone.
  void answer(const loupe_finding& finding);
  /// Whether a finding was answered with `stop`.
  bool should_stop() const { return should_stop_; }

 private:
  Monitor& monitor_;
  bool should_stop_ = false;
};

/// An inspector: a monitor, and one class for each job around it. Members are called within enter, which holds the
/// mutex.
class Inspector::Impl final : public MonitorHost {
 public:
  explicit Impl(Config config);
  /// Ends the run. Call before the destructor, while the trainer's callback may still use the inspector.
  void finish();
  /// In a forked child the parent's inspector watches, writes and destroys nothing.
  bool is_of_parent() const { return forks_ != forks_of_process(); }

  /// Wraps every member of the inspector. Does nothing in a forked child; afterwards, with no lock held, delivers
  /// findings.
  template <class Call>
  std::invoke_result_t<Call> enter(Call&& call) {
    return enter_unlocked([&] {
      const std::lock_guard lock(*monitor_.mutex());
      return call();
    });
  }
  /// The same without the mutex, which another thread may hold.
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
  /// The same as enter; then throws the exception of the callback or of `on_finding: throw`.
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
  /// Takes a finding of the host.
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

  // The interface for the monitor.
  void before_tick() override;
  std::vector<const loupe_optimizer*> optimizers() override { return attachments_.optimizers(); }
  void looking_changed() override { attachments_.follow_looking(); }
  void tick_due() override { due_.step_ended(); }
  void finding_told(const loupe_finding& finding) override { policy_.answer(finding); }
  SaveTensor tensor_saver() override;

  void warn_of_parent();
  void warn_of_unthrown();

  const uint64_t forks_ = forks_of_process();  // at construction
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
