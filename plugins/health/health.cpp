#include <loupe/plugin.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "health/blame.h"
#include "health/judge.h"
#include "health/losses.h"
#include "health/rules.h"
#include "health/watches.h"

namespace loupe::health {
/// Says what is wrong with training, where, since when, and what to do about it. Watches by itself what its rules need,
/// through the measurements that other lenses share.
class Health : public Lens {
 public:
  static constexpr const char* name = "health";
  static constexpr const char* help =
      "says what is wrong with training, where, and what to do; silent while it is healthy";
  static constexpr const char* example = "health: {off: [update_ratio], dead_share: 0.6}";
  static std::vector<const char*> gives() {
    return {
        "non_finite: error; the first NaN or Inf of the run, and what made it",
        "gradients_not_cleared: error; a step's gradients still hold those of the step before",
        "no_step: error; gradients are made in a whole epoch, and nothing steps",
        "zero_learning_rate: warning; a parameter group's rate stays 0",
        "no_effect: error; a step changes nothing, or, with 16 bits, less than the type can hold",
        "nothing_trainable: error; nothing requires a gradient, or the loss reaches nothing",
        "unchanged_parameter: warning; in no optimizer, or cut off from the loss",
        "stale_optimizer: error; the optimizer holds parameters that the model no longer has",
        "unregistered_module: warning; a module with parameters runs in the model and is never trained",
        "mode_mismatch: error or warning; trained in eval mode, validated in training mode, dropout left on",
        "repeated_batch: warning; the input stopped changing",
        "small_batch_norm: warning; batch statistics of one or two values",
        "double_softmax: warning; a cross entropy of what is a distribution already",
        "vanishing_gradient: error; first layer's gradient against the last's",
        "exploding_gradient: warning; the same, or a norm far above all before",
        "dead_units: error; ReLU-like units silent for a whole window of samples",
        "saturated_activation: warning; tanh or sigmoid pressed to its bounds",
        "update_ratio: warning; a step's norm over the parameter's, too large or too small",
        "poor_initialization: error or warning; equal units, or a variance that grows or shrinks by layer",
        "unnormalized_input: warning; inputs far from unit scale",
        "constant_output: warning; a layer's output does not depend on its input",
        "loss_not_decreasing, loss_oscillating, loss_spike, overfitting: warnings; diverging_loss: error",
        "departs_from_baseline: warning; the first series outside of what good runs show, where a baseline is given",
    };
  }
  static std::vector<Option> options() { return health::options(); }

  Health(const Options& options, const Host& host)
      : limits_(options),
        watched_(host, limits_.told_dead_share()),
        ledger_(off(options), options.get<int>("patience"), options.get<int>("cooldown")),
        window_(options.get<uint64_t>("window")) {}

  void attach() override { watch_pushes({"push"}, losses_); }
  void visit(const Module& module) override;
  void forget(const Module& module) override;
  void step(const loupe_step& step, Report& report) override;
  void report(Report& report) override;

 private:
  static std::set<std::string> off(const Options& options) {
    const Strings names = options.get<Strings>("off");
    return {names.begin(), names.end()};
  }
  Model& model_of(const Module& module);
  void drop_detached();
  const Layer& watch_layer(Model& model, const Module& module);
  void watch_parameters(Model& model, const Module& module, const Layer* layer);
  template <class Watch, class... Arguments>
  Watch& keep(Model& model, Arguments&&... arguments) {
    auto made = std::make_unique<Watch>(watched_, model, std::forward<Arguments>(arguments)...);
    Watch& kept = *made;
    model.watches.push_back(std::move(made));
    return kept;
  }

  Judge judge(Report& report) { return {ledger_, limits_, report, watched_.host}; }
  void close_step(const Judge& judge, Model& model, const loupe_optimizer* optimizer);
  void close_window(const Judge& judge, Model& model);
  void follow_trail(const Judge& judge, Model& model);
  void follow_recovery(Model& model);
  bool any_broken() const {
    return std::any_of(models_.begin(), models_.end(), [](const auto& model) { return model->is_broken; });
  }
  void tell_unregistered(const Judge& judge);
  /// Whether its rule cannot see whether a finding still holds.
  bool is_open(const Finding& finding) const;
  /// What the findings in the windows that have ended, and in the epoch where it is a tick, have come to.
  void end_windows(Report& report, bool is_tick);
  bool has_window_ended(const loupe_module* module) const;
  void tell_of_device(Model& model);
  void take_loss() {
    if (losses_.take_non_finite()) loss_is_bad_ = loss_turned_bad_ = true;
  }
  void make_changes();
  void notice_gap(uint64_t step, bool loss_is_bad);
  void tell_unseen_loss(const Judge& judge);

  Limits limits_;
  Watched watched_;
  Ledger ledger_;
  uint64_t window_;
  Losses losses_;
  std::vector<std::unique_ptr<Model>> models_;
  std::vector<const loupe_module*> unregistered_;
  std::optional<Sight> non_finite_;                             ///< as it was told last
  Changes changes_;                                             ///< that a step asks for
  std::vector<std::pair<Tallies, OutputTally>> spare_tallies_;  ///< of models that are detached
  RateHistory rates_;
  bool annealed_ = false, loss_is_bad_ = false;
  bool met_non_finite_ = false;  ///< since the step before, or the tick
  bool met_unregistered_ = false;
  uint64_t steps_since_tick_ = 0;
  uint64_t last_step_ = 0;         ///< the last that was looked at
  uint64_t steps_since_loss_ = 0;  ///< looked at since the loss was not finite, where it was so in an unseen step
  bool loss_turned_bad_ = false;   ///< since the last step that was looked at
  bool loss_was_unseen_ = false;   ///< and the steps since show nothing yet
};

/// A model that is attached again begins anew, while the numbers of the time before may still wait for their tick.
Model& Health::model_of(const Module& module) {
  if (!module.is_root()) {
    const auto known = std::find_if(models_.rbegin(), models_.rend(),
                                    [&](const auto& model) { return model->name == module.model(); });
    if (known != models_.rend()) return **known;
  }
  models_.push_back(std::make_unique<Model>(module.model()));
  if (spare_tallies_.empty()) {
    models_.back()->tallies = Tallies({make_tally(), make_tally()}, {make_tally(), make_tally()});
    models_.back()->output_tally = OutputTally(make_tally());
  } else {
    std::tie(models_.back()->tallies, models_.back()->output_tally) = spare_tallies_.back();
    spare_tallies_.pop_back();
  }
  return *models_.back();
}

/// Not while a module is being forgotten: what watches it ends after that.
void Health::drop_detached() {
  const auto gone =
      std::stable_partition(models_.begin(), models_.end(), [](const auto& model) { return !model->modules.empty(); });
  for (auto each = gone; each != models_.end(); ++each)
    spare_tallies_.emplace_back((*each)->tallies.emptied(), (*each)->output_tally.emptied());
  models_.erase(gone, models_.end());
}

void Health::visit(const Module& module) {
  if (module.is_loss()) return;
  if (module.is_root()) drop_detached();
  Model& model = model_of(module);
  model.modules[module.raw()];
  if ((module.raw()->flags & LOUPE_MODULE_UNREGISTERED) != 0) {
    unregistered_.push_back(module.raw());
    met_unregistered_ = true;
    return;
  }
  if (module.is_root()) {
    model.root = module.raw();
    watch(module, {"loss_input"}, keep<LossInputLook>(model));
  }
  const bool runs_as_one = module.is_leaf() || module.family() == LOUPE_FAMILY_ATTENTION;
  const Layer* layer = runs_as_one && module.is_tapped() ? &watch_layer(model, module) : nullptr;
  watch_parameters(model, module, layer);
}

const Layer& Health::watch_layer(Model& model, const Module& module) {
  Layer* layer = nullptr;
  {
    // Functions are met while the model runs.
    const std::lock_guard lock(model.mutex);
    layer = &model.layers.emplace_back(module);
    model.modules[module.raw()].layers.push_back(layer);
  }
  const Source outputs = watch(module, {"forward"}, keep<OutputWatch>(model, *layer, LOUPE_PLACE_CPU));
  const Source device_outputs = watch(module, {"forward"}, keep<OutputWatch>(model, *layer, LOUPE_PLACE_DEVICE));
  const Source device_looks = watch(module, {"forward"}, keep<DeviceOutputLook>(model, *layer));
  const std::lock_guard lock(model.mutex);
  layer->outputs = outputs;
  layer->device_outputs = device_outputs;
  layer->device_looks = device_looks;
  return *layer;
}

void Health::watch_parameters(Model& model, const Module& module, const Layer* layer) {
  for (std::size_t i = 0; i < module.parameter_count(); ++i) {
    const Parameter& parameter = module.parameter(i);
    if (is_buffer(parameter)) continue;
    ParameterState* state = nullptr;
    {
      const std::lock_guard lock(model.mutex);
      state = &model.parameters.emplace_back();
      model.modules[module.raw()].parameters.push_back(state);
    }
    state->module = module.raw();
    state->parameter = module.raw()->parameters[i];
    state->layer = module.name();
    state->name = parameter.name;
    state->runs = layer;
    const Watch gradient = {"parameter_gradient", parameter.name}, step = {"optimizer_step", parameter.name};
    state->gradient_source = watch(module, gradient, keep<GradientNumbers>(model, *state));
    state->device_gradient_look = watch(module, gradient, keep<DeviceGradientLook>(model));
    state->step_source = watch(module, step, keep<StepWatch>(model, *state, LOUPE_PLACE_CPU));
    watch(module, step, keep<StepWatch>(model, *state, LOUPE_PLACE_DEVICE));
    watch(module, step, keep<DeviceStepLook>(model, *state));
  }
}

void Health::forget(const Module& module) {
  ledger_.forget(module.raw());
  const std::optional<Origin> origin = watched_.trail.first();
  if (origin && origin->module == module.raw()) watched_.trail.forget();
  if (non_finite_ && non_finite_->module == module.raw()) non_finite_.reset();
  unregistered_.erase(std::remove(unregistered_.begin(), unregistered_.end(), module.raw()), unregistered_.end());
  for (const auto& model : models_) {
    const std::lock_guard lock(model->mutex);
    const auto parts = model->modules.find(module.raw());
    if (parts == model->modules.end()) continue;
    if (model->root == module.raw()) model->root = nullptr;
    model->pass = {};
    model->resting.begin_anew();
    model->flow.end_pass();
    model->sums.weights.largest = model->sums.others.largest = nullptr;
    model->small_norm = nullptr;
    model->first_layer = model->last_layer = model->dropped_in_eval = nullptr;
    // What watches them refers to them until this call has ended.
    for (Layer* layer : parts->second.layers) {
      layer->module = nullptr;
      layer->first_run = 0;
      layer->rests = 0;
      layer->may_be_added_up = layer->is_added_up = layer->lacks_input = false;
      layer->neighbours = {};
      for (Layer& other : model->layers) other.forget(*layer);
      layer->next_window();
    }
    for (ParameterState* each : parts->second.parameters) *each = {};
    model->modules.erase(parts);
  }
}

/// Once they are met, and in each window, since nothing but another program mends that.
void Health::tell_unregistered(const Judge& judge) {
  for (const loupe_module* module : unregistered_) {
    Sight sight;
    sight.rule = "unregistered_module";
    sight.module = module;
    sight.message = std::string("a ") + module->full_type + " runs in the model ('" + module->name +
                    "') that no module has registered: its parameters get gradients and are never trained";
    sight.advice = "make it with register_module in the constructor of the module that uses it";
    judge.tell(sight);
  }
}

/// A verdict that says nothing of what it could not see is none.
void Health::tell_of_device(Model& model) {
  if (!model.is_on_device || std::exchange(model.told_of_device, true)) return;
  std::string blind;
  for (const std::string& rule : blind_on_devices()) {
    if (!ledger_.is_off(rule.c_str())) blind += (blind.empty() ? "" : ", ") + rule;
  }
  if (blind.empty()) return;
  watched_.host.info("health: of the layers of " + whose(model) + " that run on a device nothing is said of " + blind +
                     ", nor of a gradient that jumps in one step; a short run on the processor shows them");
}

/// The first NaN or Inf is told once it is known to have done harm: to parameters or to the loss. One that a skipped
/// step or a mask has kept away from them is none.
void Health::follow_trail(const Judge& judge, Model& model) {
  if (any_broken() || !watched_.trail.is_taken()) return;
  const std::optional<Origin> origin = watched_.trail.first();
  if (!origin) return;
  const bool stepped = model.sums.counts.stepped > 0;
  const bool harmed = std::any_of(model.parameters.begin(), model.parameters.end(),
                                  [](const ParameterState& each) { return each.stepped && !each.is_finite; });
  if (harmed || loss_is_bad_) {
    non_finite_ =
        blame(*origin, loss_is_bad_, non_finite_ ? "a NaN or Inf came again" : "the first NaN or Inf of this run");
    judge.tell(*non_finite_);
    model.is_broken = true;
    model.finite_steps = 0;
  } else if (stepped && model.name == origin->module->model) {
    // An Inf alone may be meant, as in masks and where a scaled loss overflows.
    if (origin->place == Origin::Place::output && origin->nan_count > 0) {
      Sight sight = blame(*origin, /*loss=*/false,
                          "a NaN that did no harm, as parameters and the losses that were pushed stayed finite");
      sight.severity = LOUPE_SEVERITY_INFO;
      judge.tell(sight);
    }
    watched_.trail.forget();
  }
}

/// Once steps are made in which all is finite, the rules go on, with what they see from now on.
void Health::follow_recovery(Model& model) {
  constexpr uint32_t enough = 2;
  const bool is_finite = !met_non_finite_ && std::all_of(model.parameters.begin(), model.parameters.end(),
                                                         [](const ParameterState& each) { return each.is_finite; });
  model.finite_steps = is_finite ? model.finite_steps + 1 : 0;
  if (model.finite_steps < enough) return;
  model.is_broken = false;
  model.next_window();
  watched_.trail.forget();
  loss_is_bad_ = false;
}

bool Health::is_open(const Finding& finding) const {
  return finding.rule != "non_finite" &&
         std::any_of(models_.begin(), models_.end(), [&](const std::unique_ptr<Model>& model) {
           return model->is_broken &&
                  (finding.module == nullptr || model->modules.find(finding.module) != model->modules.end());
         });
}

/// Of the model that has the module; of any, where none has it.
bool Health::has_window_ended(const loupe_module* module) const {
  bool any = false;
  for (const auto& model : models_) {
    if (model->modules.find(module) != model->modules.end()) return model->has_window_ended;
    any = any || model->has_window_ended;
  }
  return any;
}

void Health::end_windows(Report& report, bool is_tick) {
  if (any_broken() && non_finite_) judge(report).tell(*non_finite_);
  tell_unregistered(judge(report));
  Ended ended;
  ended.tick = is_tick;
  ended.window = [&](const loupe_module* module) { return has_window_ended(module) || (is_tick && module == nullptr); };
  ended.is_open = [this](const Finding& finding) { return is_open(finding); };
  ledger_.end(report, ended);
  for (const auto& model : models_) model->has_window_ended = false;
}

void Health::close_step(const Judge& judge, Model& model, const loupe_optimizer* optimizer) {
  model.end_pass();
  ++model.steps;
  ++model.steps_in_window;
  follow_trail(judge, model);
  // A loss that was not finite beside a model that is: what comes later is not to blame for it.
  if (!watched_.trail.is_taken() && !model.is_on_device) loss_is_bad_ = false;
  // Numbers from a device come at the tick.
  if (model.is_broken && !model.is_on_device) follow_recovery(model);
  if (model.is_broken) return;
  if (model.steps == 1) judge_first_step(judge, model);
  if (!model.step_is_plain) judge_parameters(judge, model, optimizer);
  judge_loop(judge, model);
  judge_modes(judge, model);
  judge_input(judge, model);
  judge_gradient_jump(judge, model);
  constexpr uint64_t start = 3;
  if (model.steps == start) judge_start(judge, model);
}

void Health::close_window(const Judge& judge, Model& model) {
  if (!model.is_broken) {
    if (model.is_on_device) judge_device_effect(judge, model);
    judge_gradients(judge, model, models_.size() == 1 && !losses_.has_come_down());
    judge_updates(judge, model, annealed_);
    judge_outputs(judge, model, losses_.has_halved());
    judge_standing(judge, model);
    if (model.has_equal_units) judge_equal_units(judge, model);
  }
  model.next_window();
  model.has_window_ended = true;
}

/// The host looks at some steps only: what counts steps in a row begins anew, and nothing is compared across the gap.
void Health::notice_gap(uint64_t step, bool loss_is_bad) {
  const bool gap = step > last_step_ + 1 && last_step_ != 0;
  last_step_ = step;
  watched_.last_step.store(step, std::memory_order_relaxed);
  for (const auto& model : models_) {
    const std::lock_guard lock(model->mutex);
    model->after_gap = gap;
    model->had_gaps = model->had_gaps || gap;
    if (!gap) continue;
    model->usual.clear();
    for (ParameterState& each : model->parameters) each.cut_off_steps = each.unoptimized_steps = 0;
  }
  if (gap) rates_.forget_streaks();
  if (gap && loss_is_bad && !any_broken() && !loss_was_unseen_) {
    loss_was_unseen_ = true;
    steps_since_loss_ = 0;
  }
}

/// A loss that was not finite in a step that nobody looked at, and of which the steps after it show nothing.
void Health::tell_unseen_loss(const Judge& judge) {
  constexpr uint64_t enough = 2;
  if (!loss_was_unseen_ || any_broken() || ++steps_since_loss_ <= enough) return;
  Sight sight;
  sight.rule = "non_finite";
  sight.tag = "Loss";
  sight.message =
      "the training loss was NaN or Inf in a step that was not looked at (attach.every, attach.budget); the model's "
      "outputs, gradients and parameters are finite again in the steps after it";
  sight.advice = "look at every step to learn what made it, and see the batch of that step";
  judge.tell(sight);
  loss_was_unseen_ = loss_is_bad_ = false;
}

/// Not under a model's mutex: an event holds its module's when it takes that one.
void Health::make_changes() {
  for (const auto& [source, what] : changes_.rests) source.rest(what);
  for (const auto& [source, tally] : changes_.uses) source.use(tally);
  changes_.rests.clear();
  changes_.uses.clear();
}

void Health::step(const loupe_step& step, Report& report) {
  drop_detached();
  const Judge judge = this->judge(report);
  if (step.number == 1 && step.epoch > 1) losses_.begin_late();
  ++steps_since_tick_;
  take_loss();
  met_non_finite_ = watched_.trail.take_met() || loss_turned_bad_;
  notice_gap(step.number, std::exchange(loss_turned_bad_, false));
  // Numbers from a device come at the tick, of all steps before it, and windows of all models end together.
  bool ends_windows = true;
  for (const auto& model : models_) {
    const std::lock_guard lock(model->mutex);
    ends_windows = ends_windows && !model->is_on_device;
    model->take_tallies();
    const bool stepped = model->sums.counts.stepped > 0;
    model->step_is_plain = stepped && model->is_plain(step.optimizer != nullptr ? step.optimizer->id : 0);
    if (!model->step_is_plain || watched_.trail.is_taken()) model->follow();
  }
  if (step.optimizer != nullptr) {
    const double epochs = LOUPE_REACHES(step, epochs) ? step.epochs : 0;
    const double after_this = epochs - step.epoch;
    const double to_come = after_this > 0.1 * epochs ? after_this : 0;  // the last tenth may rest at a rate of 0
    for (const auto& model : models_) {
      if (model->name != step.optimizer->model) continue;
      const std::lock_guard lock(model->mutex);
      judge_optimizer(judge, *model, *step.optimizer, rates_, to_come);
      model->searches_steps = std::string_view(step.optimizer->type) == "LBFGS";
    }
    annealed_ = rates_.is_annealed(step.optimizer);
  }
  bool window_ended = false;
  for (const auto& model : models_) {
    {
      const std::lock_guard lock(model->mutex);
      if (model->sums.counts.stepped > 0) {
        close_step(judge, *model, step.optimizer);
        if (model->steps_in_window >= window_ && ends_windows) {
          close_window(judge, *model);
          model->resting.begin_window(*model, changes_);
          window_ended = true;
        } else {
          const bool may_rest = !watched_.trail.is_taken() && !model->is_on_device;
          model->resting.end_step(*model, may_rest, changes_);
        }
        model->next_step();
      } else if (step.optimizer == nullptr || model->name == step.optimizer->model) {
        // What is added up of a step did not come.
        model->resting.wake(*model, changes_);
      }
    }
    make_changes();
  }
  tell_unseen_loss(judge);
  losses_.judge_spikes(judge);
  if (std::exchange(met_unregistered_, false)) tell_unregistered(judge);
  if (window_ended) end_windows(report, /*is_tick=*/false);
}

void Health::report(Report& report) {
  drop_detached();
  const Judge judge = this->judge(report);
  take_loss();
  const bool validated = losses_.take_validation();
  met_non_finite_ = watched_.trail.take_met();
  std::size_t trained = 0;
  for (const auto& model : models_) {
    const std::lock_guard lock(model->mutex);
    if (model->steps > 0) ++trained;
    model->take_tallies();
    model->follow();
    follow_trail(judge, *model);
    if (model->is_broken && model->is_on_device) follow_recovery(*model);
    tell_of_device(*model);
    for (ParameterState& each : model->parameters)
      each.ever_changed = each.ever_changed || (each.parameter != nullptr && each.is(LOUPE_PARAMETER_CHANGED));
    if (validated && model->steps > 0 && !model->is_broken) judge_validation(judge, *model);
    if (!model->is_broken) judge_untouched(judge, *model);
    const bool changed = std::any_of(model->parameters.begin(), model->parameters.end(), [](const auto& each) {
      return each.parameter != nullptr && each.is(LOUPE_PARAMETER_CHANGED);
    });
    if (model->has_backward && steps_since_tick_ == 0 && !changed) {
      Sight sight;
      sight.rule = "no_step";
      sight.at_tick = true;
      sight.severity = LOUPE_SEVERITY_ERROR;
      sight.module = model->root;
      sight.message = "gradients were made in this epoch, but no optimizer stepped and no parameter changed";
      sight.advice = "call optimizer.step() after backward()";
      judge.tell(sight);
    }
    model->has_backward = false;
    // What fewer steps show goes into the next window: epochs of one step are judged too, and one that ends with a
    // window does not end another, in which nothing was seen.
    if (model->steps_in_window >= fewest_looks_in_window) close_window(judge, *model);
    model->resting.begin_window(*model, changes_);
  }
  make_changes();
  losses_.judge_spikes(judge);
  losses_.judge_epoch(judge, trained == 1 && !any_broken(), !rates_.any_returned());
  end_windows(report, /*is_tick=*/true);
  steps_since_tick_ = 0;
}

}  // namespace loupe::health

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"health", "0.1.0", "What is wrong with training, and what to do about it.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::health::Health);
