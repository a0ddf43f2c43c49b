#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/monitor.h"
#include "torch/model/coverage.h"
#include "torch/model/module_types.h"
#include "torch/model/point_maker.h"
#include "torch/model/tap_point.h"
#include "torch/taps/optimizer_steps.h"

namespace loupe {

/// One model attached to one inspector: its tap points, its hooks, its optimizers. Trainer's thread unless noted.
class Attachment final : public WatchedModel, public std::enable_shared_from_this<Attachment> {
 public:
  /// @param monitor  lives until detach; its mutex and outbox live longer, for training threads that come later
  Attachment(Monitor& monitor, std::string name);
  ~Attachment() override { detach(); }

  const std::string& name() const { return names_.model; }
  /// The name it is shown under, or its type if it has none. Valid after attach.
  std::string shown_name() const { return names_.root(); }
  /// Walks the model, shows its modules to the lenses and lays the taps.
  void attach(torch::nn::Module& model, const std::vector<torch::optim::Optimizer*>& optimizers, const Exposed& exposed,
              bool is_loss = false);
  /// Adds an optimizer later. Under the inspector's mutex, like attach.
  void attach_optimizer(torch::optim::Optimizer& optimizer);
  /// The model's optimizers are not yet known: each is found when it clears gradients or steps.
  void await_optimizers();
  void detach();
  void abandon() override { active_->store(false); }
  void set_active(bool active);

  std::shared_ptr<FunctionPoint> function_after(TapPoint& after, const FunctionKind& kind,
                                                std::size_t occurrence) override;
  bool add_unregistered(const torch::nn::Module& module, const TapPoint& after) override;
  bool has_registered(const torch::nn::Module& module) const override;

  /// Whether the optimizer holds any of the model's parameters. Any thread.
  bool holds_any(const torch::optim::Optimizer& optimizer) const { return steps_.holds_any(optimizer); }
  bool concerns(const torch::optim::Optimizer& optimizer) const override { return steps_.concerns(optimizer); }
  void meet(torch::optim::Optimizer& optimizer) override;
  void before_step(torch::optim::Optimizer& optimizer) override;
  void after_step(torch::optim::Optimizer& optimizer) override;
  /// Call it after weights were updated without an optimizer. Any thread.
  void stepped_by_hand();
  void end_step() override;
  void deliver_findings() override { outbox_->deliver(); }
  /// Sets whether the steps of its first optimizer, or those reported by hand, are the run's clock. Under the
  /// inspector's mutex, like has_optimizer.
  void set_clock(bool counts) { is_clock_ = counts; }
  bool has_optimizer() const { return steps_.any(); }
  void notice_unseen_step() override;
  /// Counts changes from the current values of the parameters.
  void prime() { steps_.prime(); }
  /// Watches the parameters that replaced others in the modules. Each tick does so, too.
  void follow_parameters();
  /// Sends the parameters at the end of an epoch.
  void tick();
  /// Releases dead modules, whose last values lenses have reported.
  void after_tick();
  /// Whether it had any event since the last tick.
  bool has_events() const {
    return std::any_of(points_.begin(), points_.end(), [](const auto& each) { return each->node->has_events(); });
  }
  /// Sends the current parameters, or those at the death of their module.
  void show_parameters();

  /// One line per module, and all lines as one text.
  const std::vector<std::string>& coverage() const { return coverage_.lines(); }
  std::string summary() const;
  /// How much of the model is tapped, as "3 of 4 modules tapped", and whether the summary adds more.
  std::string share() const { return coverage_.share(); }
  bool has_more_to_tell() const;
  /// Adds its optimizers, each in its state before its last step.
  void list_optimizers(std::vector<const loupe_optimizer*>& all) const { steps_.list(all); }

 private:
  bool is_active() const { return active_->load(std::memory_order_relaxed); }
  /// Whether there was an unseen step.
  bool find_unseen_step();
  void watch_gradients();
  void find_code(torch::nn::Module& model);
  void warn_of_inference_parameters() const;
  void tell_of_left_parameters();
  /// Follows a module whose parameters were replaced; true if any was.
  bool follow(TapPoint& point);
  void release_parameters(TapPoint& point);

  Monitor& monitor_;
  std::shared_ptr<InspectorMutex> mutex_;
  std::shared_ptr<Outbox> outbox_;
  LayerNames names_;
  Coverage coverage_;
  std::shared_ptr<std::atomic<bool>> active_ = std::make_shared<std::atomic<bool>>(false);
  bool attached_ = false, is_clock_ = false, counts_always_ = false;
  std::shared_ptr<ModelNode> model_;  // while it is attached
  std::vector<std::shared_ptr<TapPoint>> points_;
  std::vector<std::shared_ptr<FunctionPoint>> function_points_;
  std::vector<std::pair<const torch::nn::Module*, std::shared_ptr<ModuleNode>>> unregistered_;
  OptimizerSteps steps_{points_, names_};
  LateModules late_modules_;
  bool told_of_unseen_ = false, finds_code_ = true;
  bool holds_redirections_ = false, awaits_optimizers_ = false;
  std::shared_ptr<ScriptRoot> script_;  // if the model is a script, until that dies
  bool is_script_ = false;
};

}  // namespace loupe
