#include "health/health.h"

#include <loupe/draft/abi/flags.h>
#include <loupe/draft/abi/loss_input.h>
#include <loupe/internal/tally.h>
#include <loupe/plugin.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace loupe::health {

std::vector<const char*> Health::gives() {
  static const auto& lines = *[] {
    auto* each = new std::vector<std::string>();
    for (const Rule& rule : rules()) each->push_back(std::string(rule.name) + ": " + rule.help);
    return each;
  }();
  std::vector<const char*> pointers;
  for (const std::string& line : lines) pointers.push_back(line.c_str());
  return pointers;
}

/// Reports unregistered modules when they first run and in each window, because only a changed program fixes them; one
/// finding for each type.
void Health::tell_unregistered(const Judge& judge) {
  constexpr std::size_t shown = 3;
  std::map<std::string_view, std::vector<const loupe_module*>> by_type;
  for (const loupe_module* module : unregistered_) by_type[module->full_type].push_back(module);
  for (const auto& each : by_type) {
    const std::vector<const loupe_module*>& modules = each.second;
    const std::size_t count = modules.size();
    const bool is_one = count == 1;
    std::string names;
    for (std::size_t i = 0; i < count && i < shown; ++i)
      names += std::string(i > 0 ? ", '" : "'") + modules[i]->name + "'";
    if (count > shown) names += ", …";
    judge.by(rule_named(unregistered_module))
        .tell({.module = modules[0]},
              sentence(is_one ? "a module" : sentence(count, " modules"), " of type ", modules[0]->type,
                       is_one ? " runs (" : " run (", names, ") that no watched model has registered: ",
                       is_one ? "its" : "their", " parameters get gradients, but no step changes them"),
              is_one ? ""
                     : "register them with register_module in the module that uses them, or give their parameters to "
                       "an optimizer; frozen ones need requires_grad_(false)");
  }
}

std::string Health::rules_that(bool (*matches)(const Rule&)) const {
  std::string names;
  for (const Rule& rule : rules()) {
    if (matches(rule) && !ledger_.is_off(rule.name)) names += (names.empty() ? "" : ", ") + std::string(rule.name);
  }
  return names;
}

/// Informs once of the rules that do not apply to layers on a device, so that silence does not look like health.
void Health::tell_of_device(Model& model) {
  if (!model.is_on_device || std::exchange(model.told_of_device, true)) return;
  const std::string blind = rules_that([](const Rule& rule) { return rule.is_blind_on_devices; });
  if (blind.empty()) return;
  watched_.host.info(
      sentence("layers of ", whose(model), " run on a device, where these rules do not apply: ", blind,
               ", and a gradient that jumps in one step is not seen; a short run on the processor shows such faults"));
}

/// Informs once of the rules about time that do not apply.
void Health::tell_of_speed() {
  if (!speed_.has_steps() || std::exchange(told_of_speed_, true)) return;
  const std::string silent = rules_that([](const Rule& rule) {
    return std::ranges::any_of(rule.looks, [](const Rule::Look& look) { return look.when == When::speed; });
  });
  if (silent.empty()) return;
  watched_.host.info(sentence(
      "steps are timed on the host, which does not see the device's work, so these rules do not apply: ", silent,
      "; device times need LibTorch 2.13 or newer and an optimizer of LibTorch's, whose steps are not captured"));
}

bool Health::is_open(const Finding& finding) {
  if (finding.rule == non_finite && finding.module == nullptr) {
    // A loss stays bad until a finite one comes.
    const std::lock_guard lock(losses_.mutex);
    return losses_.is_bad_now();
  }
  return finding.rule != non_finite && std::ranges::any_of(models_, [&](const std::unique_ptr<Model>& model) {
           return model->is_broken &&
                  (finding.module == nullptr || model->modules.find(finding.module) != model->modules.end());
         });
}

/// Asks the model that has the module, or all models if none has it.
bool Health::has_window_ended(const loupe_module* module) const {
  bool any = false;
  for (const auto& model : models_) {
    if (model->modules.find(module) != model->modules.end()) return model->has_window_ended;
    any = any || model->has_window_ended;
  }
  return any;
}

void Health::end_windows(Report& report, bool is_tick) {
  if (any_broken() && non_finite_) judge(report).by(rule_named(non_finite)).tell(*non_finite_);
  tell_unregistered(judge(report));
  const auto has_ended = [&](const loupe_module* module) {
    return has_window_ended(module) || (is_tick && module == nullptr);
  };
  ledger_.end(report, {.tick = is_tick, .window = has_ended, .is_open = [this](const Finding& finding) {
                         return is_open(finding);
                       }});
  for (const auto& model : models_) model->has_window_ended = false;
}

Situation Health::situation(Model* model, const loupe_optimizer* optimizer) {
  Situation now{
      .model = model, .losses = &losses_, .rates = &rates_, .optimizer = optimizer, .passes = &watched_.passes};
  // A loss is reported to the model that ran last, even if it compares outputs of others.
  for (const auto& each : models_) {
    now.compares_outputs = now.compares_outputs || each->compares_outputs;
    now.compares_targets = now.compares_targets || each->compares_targets;
    now.compares_classes = now.compares_classes || each->compares_classes;
    now.compares_numbers = now.compares_numbers || each->compares_numbers;
  }
  return now;
}

void Health::close_step(const Judge& judge, const Situation& situation) {
  Model& model = *situation.model;
  model.end_pass();
  ++model.steps;
  model.acting_steps += model.step.passes_without_grad > 0 ? 1 : 0;
  if (++model.window.steps == 1) model.ask_for_path();
  judge_non_finite(judge, model);
  if (!model.is_on_device) tell_lone_loss(judge);
  // Numbers from a device come at the tick.
  if (model.is_broken && !model.is_on_device) follow_recovery(model);
  if (model.is_broken) return;
  if (!model.step.is_plain) {
    // If the sums are incomplete, the next step looks at each parameter.
    if (!model.knows_each()) model.resting.begin_anew();
    judge_all(When::parameters, judge, situation);
  }
  judge_all(When::step, judge, situation);
}

std::size_t Health::trainings() const {
  std::set<uint64_t> optimizers;
  std::size_t by_hand = 0;
  for (const auto& model : models_) {
    if (model->steps == 0) continue;
    if (model->trained_by == 0) {
      ++by_hand;
    } else {
      optimizers.insert(model->trained_by);
    }
  }
  return by_hand + optimizers.size();
}

/// The squared differences of some weights, divided by their own squares: about 1 if they have nothing in common.
double Health::distance_between(const Model& one, const Model& other) const {
  constexpr int64_t most = 64;
  double differences = 0, squares = 0;
  for (std::size_t i = 0; i < one.parameters.size(); ++i) {
    const ParameterState &a = one.parameters[i], &b = other.parameters[i];
    if (!a.is_matrix()) continue;
    std::vector<double> ours;
    read(watched_.host, a, false, [&](const Elements& values) {
      values.sample(most, [&](int64_t place) { ours.push_back(values.at(place)); });
    });
    read(watched_.host, b, false, [&](const Elements& theirs) {
      if (ours.size() != static_cast<std::size_t>(std::min(most, theirs.count()))) return;
      std::size_t at = 0;
      theirs.sample(most, [&](int64_t place) {
        const double x = ours[at++], y = theirs.at(place);
        differences += (x - y) * (x - y);
        squares += x * x + y * y;
      });
    });
  }
  return squares > 0 ? differences / squares : 0;
}

std::optional<StillTwin> Health::still_twin_of(const Model& trained) {
  constexpr double apart = 0.5;
  const auto has_shape = [](const ParameterState& a, const ParameterState& b) {
    const loupe_parameter *first = a.parameter, *second = b.parameter;
    return first != nullptr && second != nullptr && first->dim == second->dim &&
           std::equal(first->sizes, first->sizes + first->dim, second->sizes);
  };
  const auto stays = [](const ParameterState& each) {
    return each.steps == 0 && !each.ever_changed && !each.is(LOUPE_DRAFT_PARAMETER_CHANGED) &&
           !each.is(LOUPE_PARAMETER_OPTIMIZED);
  };
  if (trained.steps == 0) return std::nullopt;
  for (const auto& other : models_) {
    if (other.get() == &trained) continue;
    const std::lock_guard lock(other->mutex);
    const auto& parameters = other->parameters;
    const bool is_twin = other->root != nullptr && !parameters.empty() &&
                         std::equal(parameters.begin(), parameters.end(), trained.parameters.begin(),
                                    trained.parameters.end(), has_shape);
    if (!is_twin || !std::ranges::all_of(parameters, stays)) continue;
    if (other->step.passes == 0 || other->step.passes_without_grad < other->step.passes) continue;
    if (std::isnan(other->first_distance)) other->first_distance = distance_between(trained, *other);
    return StillTwin{other->root, other->name, other->step.passes, other->first_distance > apart};
  }
  return std::nullopt;
}

bool Health::is_one_training() const {
  return models_.size() == 1 ||
         (trainings() == 1 && std::ranges::all_of(models_, [](const auto& model) { return model->steps > 0; }));
}

void Health::close_window(const Judge& judge, Model& model) {
  if (!model.is_broken) {
    Situation now = situation(&model);
    now.is_annealed = annealed_;
    now.has_other_models = !is_one_training();
    {
      const std::lock_guard lock(losses_.mutex);
      now.is_stuck = is_one_training() && !losses_.has_come_down();
      now.has_loss_halved = losses_.has_halved();
      if (models_.size() == 1 && !model.acts()) now.trend = losses_.trend(model.guessing.was_no_better());
    }
    const Model::Window& window = model.window;
    const std::string basis =
        window.passed > 0 ? sentence(" (seen in ", window.steps, " of ", window.steps + window.passed, " steps)") : "";
    Judge on_steps = judge;
    on_steps.basis = basis.c_str();
    judge_all(When::window, on_steps, now);
  }
  model.next_window();
  model.has_window_ended = true;
}

void Health::judge_losses(const Judge& judge, LastStep last) {
  Situation now = situation();
  if (last == LastStep::passed) now.input_jump = NAN;
  for (const auto& model : models_) {
    const std::lock_guard lock(model->mutex);
    now.acts = now.acts || model->acts();
    if (last == LastStep::measured && std::abs(std::log(model->input_jump)) > std::abs(std::log(now.input_jump)))
      now.input_jump = model->input_jump;
  }
  const std::lock_guard lock(losses_.mutex);
  judge_all(When::losses, judge, now);
}

void Health::judge_epoch(const Judge& judge, const Guessing& guessing, std::size_t trained, std::size_t epochs) {
  double input_square = NAN;
  for (const auto& model : models_) {
    const std::lock_guard of_model(model->mutex);
    if (model->steps > 0) input_square = model->usual_input_square;
  }
  const std::lock_guard lock(losses_.mutex);
  const Losses::EpochEnd ended = losses_.end_epoch(input_square, epochs);
  if (any_broken()) return;
  Situation now = situation();
  now.guessing = &guessing;
  const bool repeats = std::ranges::any_of(models_, [](const auto& model) { return model->repeats_by_habit; });
  now.acts = std::ranges::any_of(models_, [](const auto& model) { return model->acts(); });
  now.may_grow = std::ranges::any_of(models_, [](const auto& model) { return model->may_grow(); });
  if (trained > 1 && ended.training) judge_all(When::losses_of_models, judge, now);
  if (trained != 1) return;
  now.has_slow_swings = !rates_.any_returned() && !repeats;
  if (ended.training) judge_all(When::training_epoch, judge, now);
  if (ended.validation) judge_all(When::validation_epoch, judge, now);
}

/// Judges the times of steps. The host sees a device's work only if it waits for it.
void Health::judge_speed(const Judge& judge) {
  speed_.end_epoch();
  for (const auto& model : models_) {
    const std::lock_guard lock(model->mutex);
    if (!model->is_on_device || speed_.is_of_device()) continue;
    tell_of_speed();
    return;
  }
  Situation now = situation();
  now.speed = &speed_;
  judge_all(When::speed, judge, now);
}

/// Some steps were not measured: counts of steps in a row restart, and nothing is compared across the gap.
void Health::notice_gap(uint64_t step, bool loss_is_bad) {
  const bool gap = step > last_step_ + 1 && last_step_ != 0;
  last_step_ = step;
  watched_.last_step.store(step, std::memory_order_relaxed);
  for (const auto& model : models_) {
    const std::lock_guard lock(model->mutex);
    model->step.after_gap = gap;
    model->had_gaps = model->had_gaps || gap;
    if (!gap) continue;
    for (ParameterState& each : model->parameters) each.cut_off_steps = each.unoptimized_steps = 0;
  }
  if (gap && loss_is_bad && !any_broken() && !loss_was_unseen_) {
    loss_was_unseen_ = true;
    steps_since_loss_ = 0;
  }
}

/// Call it without a model's mutex: an event locks that one while it holds its module's.
void Health::make_changes() {
  for (const auto& [source, what] : changes_.rests) source.rest(what);
  for (const auto& [source, tally] : changes_.uses) internal::use(source, tally);
  changes_.rests.clear();
  changes_.uses.clear();
}

/// A new optimizer begins a new training, unless the program creates one again and again.
void Health::follow_series(const loupe_optimizer& optimizer) {
  const uint64_t before = std::exchange(newest_optimizer_, std::max(newest_optimizer_, optimizer.id));
  if (before == 0 || before >= optimizer.id) return;
  for (const auto& model : models_) {
    const std::lock_guard lock(model->mutex);
    const bool is_its = model->name == optimizer.model_name;
    if (is_its && model->newest.after_a_step + model->newest.after_an_epoch > 0) return;
  }
  for (const auto& model : models_) {
    const std::lock_guard lock(model->mutex);
    model->start = {};
  }
  const std::lock_guard lock(losses_.mutex);
  losses_.begin_series();
}

/// Judges an optimizer's settings and parameters, which are known for each step.
void Health::judge_settings(const Judge& judge, const loupe_step& step) {
  const uint64_t before = std::exchange(last_told_step_, step.at.step);
  if (before != 0 && step.at.step > before + 1) rates_.forget_streaks();
  if (step.optimizer == nullptr) return;
  const double epochs = step.epochs;
  const double after_this = epochs - step.at.epoch;
  const double to_come = after_this > 0.1 * epochs ? after_this : 0;  // a rate of 0 is normal in the last tenth
  for (const auto& model : models_) {
    if (model->name != step.optimizer->model_name) continue;
    const std::lock_guard lock(model->mutex);
    Situation now = situation(model.get(), step.optimizer);
    now.epochs_to_come = to_come;
    judge_all(When::settings, judge, now);
  }
  annealed_ = rates_.is_annealed(step.optimizer);
}

void Health::passed(const loupe_step& step, const Judge& judge) {
  for (const auto& model : models_) {
    const std::lock_guard lock(model->mutex);
    if (step.optimizer != nullptr && model->name != step.optimizer->model_name) continue;
    ++model->window.passed;
    model->had_gaps = true;
  }
  judge_settings(judge, step);
  judge_losses(judge, LastStep::passed);
}

void Health::step(const loupe_step& step, Report& report) {
  drop_detached();
  const Judge judge = this->judge(report);
  if (step.at.step == 1 && step.at.epoch > 1) {
    const std::lock_guard lock(losses_.mutex);
    losses_.began_late = true;
  }
  if (step.optimizer != nullptr) follow_series(*step.optimizer);
  ++steps_since_tick_;
  if (!is_measured(step)) return passed(step, judge);
  take_loss();
  met_non_finite_ = watched_.first_non_finite.take_met() || loss_turned_bad_;
  notice_gap(step.at.step, std::exchange(loss_turned_bad_, false));
  // Measurements from a device come at the tick, for all steps before it, and windows of all models end together.
  bool ends_windows = true;
  for (const auto& model : models_) {
    const std::lock_guard lock(model->mutex);
    ends_windows = ends_windows && !model->is_on_device;
    model->take_tallies();
    model->step.is_plain = model->step.sums.counts.stepped > 0 && model->may_be_plain();
    if (!model->step.is_plain || watched_.first_non_finite.is_taken()) model->follow();
  }
  judge_settings(judge, step);
  if (step.optimizer != nullptr) {
    for (const auto& model : models_) {
      if (model->name != step.optimizer->model_name) continue;
      const std::lock_guard lock(model->mutex);
      model->trained_by = step.optimizer->id;
      model->window.had_no_rate = model->window.had_no_rate || !has_rate(step.optimizer);
      judge_all(When::optimizer, judge, situation(model.get(), step.optimizer));
      model->searches_steps = std::string_view(step.optimizer->type) == "LBFGS";
      model->weight_decay = 0;
      for (std::size_t i = 0; i < step.optimizer->group_count; ++i)
        model->weight_decay = std::fmax(model->weight_decay, weight_decay_of(*step.optimizer->groups[i]).value_or(0));
    }
  }
  bool window_ended = false;
  for (const auto& model : models_) {
    {
      const std::lock_guard lock(model->mutex);
      if (model->step.sums.counts.stepped > 0) {
        close_step(judge, situation(model.get(), step.optimizer));
        if (model->window.steps >= window_ && ends_windows) {
          close_window(judge, *model);
          model->resting.begin_window(*model, changes_);
          window_ended = true;
        } else {
          const bool may_rest = !watched_.first_non_finite.is_taken() && !model->is_on_device;
          model->resting.end_step(*model, may_rest, changes_);
        }
        model->next_step();
      } else if (step.optimizer == nullptr || model->name == step.optimizer->model_name) {
        // The sums of a step are missing.
        model->resting.wake(*model, changes_);
      }
    }
    make_changes();
  }
  tell_unseen_loss(judge);
  judge_losses(judge, LastStep::measured);
  if (std::exchange(met_unregistered_, false)) tell_unregistered(judge);
  if (window_ended) end_windows(report, /*is_tick=*/false);
}

void Health::report(Report& report) {
  drop_detached();
  const Judge judge = this->judge(report);
  take_loss();
  bool was_validated = false;
  {
    const std::lock_guard lock(losses_.mutex);
    was_validated = losses_.take_validation();
  }
  met_non_finite_ = watched_.first_non_finite.take_met();
  Guessing guessing;
  for (const auto& model : models_) {
    const std::optional<StillTwin> twin = still_twin_of(*model);
    const std::lock_guard lock(model->mutex);
    model->take_tallies();
    model->follow();
    judge_non_finite(judge, *model);
    if (model->is_broken && model->is_on_device) follow_recovery(*model);
    tell_of_device(*model);
    for (ParameterState& each : model->parameters)
      each.ever_changed = each.ever_changed || (each.parameter != nullptr && each.is(LOUPE_DRAFT_PARAMETER_CHANGED));
    model->target_tally.end_epoch();
    Situation now = situation(model.get());
    now.epoch = static_cast<uint64_t>(std::lround(report.tick().at.epoch));
    now.was_validated = was_validated;
    now.still_twin = twin ? &*twin : nullptr;
    now.was_stepped = steps_since_tick_ > 0 || met_non_finite_;  // steps are skipped if gradients overflow
    judge_all(When::tick, judge, now);
    model->next_epoch();
    model->guessing.end_epoch();
    // A loss is reported to the model that ran last, so only one of an optimizer's models has compared it.
    const bool has_compared = guessing.text().empty() || !model->guessing.text().empty();
    if (model->steps > 0 && has_compared) guessing = model->guessing;
    // Fewer steps count towards the next window, so epochs of one step are also judged, and an epoch that ends with a
    // window does not end a second, empty one.
    if (model->window.steps >= fewest_looks_in_window) close_window(judge, *model);
    model->resting.begin_window(*model, changes_);
  }
  make_changes();
  // If steps were not measured, the next measured one may show the origin.
  if (std::ranges::none_of(models_, [](const auto& model) { return model->had_gaps; })) tell_lone_loss(judge);
  judge_losses(judge, LastStep::reported);
  const double epoch = report.tick().at.epoch, ended = epoch - std::exchange(last_epoch_, epoch);
  judge_epoch(judge, guessing, trainings(), ended > 1 ? static_cast<std::size_t>(std::lround(ended)) : 1);
  judge_speed(judge);
  end_windows(report, /*is_tick=*/true);
  steps_since_tick_ = 0;
}

// The streams that the lens subscribes to, and the state that it keeps for each model.

/// A model that is attached again gets a new state, while earlier measurements may still wait for their tick.
Model& Health::model_of(const Module& module) {
  if (!module.is_root()) {
    const auto known = std::find_if(models_.rbegin(), models_.rend(),
                                    [&](const auto& model) { return model->name == module.model(); });
    if (known != models_.rend()) return **known;
  }
  models_.push_back(std::make_unique<Model>(module.model()));
  if (spare_tallies_.empty()) {
    models_.back()->tallies = Tallies({internal::make_tally(*this), internal::make_tally(*this)},
                                      {internal::make_tally(*this), internal::make_tally(*this)});
    models_.back()->output_tally = OutputTally(internal::make_tally(*this));
  } else {
    std::tie(models_.back()->tallies, models_.back()->output_tally) = spare_tallies_.back();
    spare_tallies_.pop_back();
  }
  return *models_.back();
}

/// Do not call it while a module is being forgotten, because its watches end after that.
void Health::drop_detached() {
  const auto gone =
      std::stable_partition(models_.begin(), models_.end(), [](const auto& model) { return !model->modules.empty(); });
  for (auto each = gone; each != models_.end(); ++each)
    spare_tallies_.emplace_back((*each)->tallies.emptied(), (*each)->output_tally.emptied());
  models_.erase(gone, models_.end());
  // Do it once, not for each layer, because a detached model may have thousands.
  for (const auto& model : models_) {
    const std::lock_guard lock(model->mutex);
    if (!std::exchange(model->has_detached_layers, false)) continue;
    for (Layer& layer : model->layers) layer.forget_detached();
  }
}

void Health::visit(const Module& module) {
  if (module.is_loss()) return;
  if (module.is_root()) drop_detached();
  Model& model = model_of(module);
  model.modules[module.raw()];
  if ((module.raw()->flags & LOUPE_DRAFT_MODULE_UNREGISTERED) != 0) {
    unregistered_.push_back(module.raw());
    met_unregistered_ = true;
    return;
  }
  if (module.is_root()) {
    model.root = module.raw();
    watch(module, {LOUPE_DRAFT_GATHER_LOSS_INPUT}, keep<LossInputLook>(model, watched_, model));
  }
  const bool runs_as_one = module.is_leaf() || module.family() == LOUPE_FAMILY_ATTENTION;
  const Layer* layer = runs_as_one && module.is_tapped() ? &watch_layer(model, module) : nullptr;
  watch_parameters(model, module, layer);
}

const Layer& Health::watch_layer(Model& model, const Module& module) {
  Layer* layer = nullptr;
  {
    // Functions are first seen while the model runs.
    const std::lock_guard lock(model.mutex);
    layer = &model.layers.emplace_back(module);
    model.modules[module.raw()].layers.push_back(layer);
  }
  const auto look = [=, this, &model](const Event& event) { note_device_output(watched_, model, *layer, event); };
  const Watch forward("forward");
  const Source outputs = watch(module, forward, keep<OutputWatch>(model, watched_, model, *layer, LOUPE_PLACE_CPU));
  const Source device_outputs =
      watch(module, forward, keep<OutputWatch>(model, watched_, model, *layer, LOUPE_PLACE_DEVICE));
  const Source device_looks = watch(module, forward, keep<Calling>(model, look, at_once_on_devices()));
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
    state->index = i;
    state->service = watched_.host.parameters();
    state->host = watched_.host.context();
    state->layer = module.name();
    state->name = parameter.name;
    state->runs = layer;
    const Watch gradient = Watch("parameter_gradient").label(parameter.name);
    const Watch step = Watch("optimizer_step").label(parameter.name);
    const auto take = [=, this, &model](const Event& event) { take_gradient(watched_, model, *state, event); };
    const auto note_gradient = [&model](const Event&) { note_device_gradient(model); };
    const auto note_step = [&model, state](const Event& event) { note_device_step(model, *state, event); };
    const Request numbers{.measures = LOUPE_MEASURE_SUMS, .takes_sparse = true};
    state->gradient_source = watch(module, gradient, keep<Calling>(model, take, numbers));
    state->device_gradient_look = watch(module, gradient, keep<Calling>(model, note_gradient, at_once_on_devices()));
    state->step_source = watch(module, step, keep<StepWatch>(model, watched_, model, *state, LOUPE_PLACE_CPU));
    watch(module, step, keep<StepWatch>(model, watched_, model, *state, LOUPE_PLACE_DEVICE));
    watch(module, step, keep<Calling>(model, note_step, at_once_on_devices()));
  }
}

void Health::forget(const Module& module) {
  ledger_.forget(module.raw());
  const std::optional<Origin> origin = watched_.first_non_finite.first();
  if (origin && origin->module == module.raw()) watched_.first_non_finite.forget();
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
    model->step.sums.weights.largest = model->step.sums.others.largest = nullptr;
    model->step.small_norm = model->step.lone_softmax = model->step.time_first = nullptr;
    model->path.clear();
    model->path_end = nullptr;
    model->first_layer = model->last_layer = model->step.dropped_in_eval = nullptr;
    // Their watches refer to them until this call has ended.
    for (Layer* layer : parts->second.layers) {
      layer->module = nullptr;
      layer->first_run = 0;
      layer->rests = 0;
      layer->may_be_added_up = layer->is_added_up = layer->lacks_input = false;
      layer->neighbours = {};
      layer->next_window();
    }
    for (ParameterState* each : parts->second.parameters) *each = {};
    model->has_detached_layers = model->has_detached_layers || !parts->second.layers.empty();
    model->modules.erase(parts);
  }
}

}  // namespace loupe::health

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"health", LOUPE_VERSION, "What is wrong with training, and what to do about it.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::health::Health);
