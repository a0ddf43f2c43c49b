#include "run/watched_program.h"

#include <ATen/CPUGeneratorImpl.h>
#include <loupe/text/number_text.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <unordered_set>
#include <utility>

#include "core/forks.h"
#include "core/log.h"
#include "inspector/program_inspector.h"
#include "pipeline/monitor.h"
#include "run/default_monitor.h"
#include "torch/model/module_types.h"
#include "torch/model/registry.h"
#include "torch/taps/script_calls.h"

namespace loupe {
namespace {

/// The finding that the optimizer holds one instance of a model while another one runs: none of its parameters has a
/// gradient, and the loss depends on as many others of the same shapes.
/// @param leaves  the parameters that the last loss depends on  @param model  the name of the optimizer's model
std::optional<Finding> finding_of_twin(const torch::optim::Optimizer& optimizer, const std::vector<LossLeaf>& leaves,
                                       const std::string& model) {
  if (leaves.empty()) return std::nullopt;
  std::unordered_set<const c10::TensorImpl*> held;
  std::multiset<std::vector<int64_t>> shapes, others;
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      if (parameter.grad().defined()) return std::nullopt;
      held.insert(parameter.unsafeGetTensorImpl());
      shapes.insert(parameter.sizes().vec());
    }
  }
  for (const LossLeaf& leaf : leaves) {
    if (held.count(leaf.parameter) != 0) return std::nullopt;
    others.insert(leaf.shape);
  }
  if (shapes != others) return std::nullopt;
  Finding finding;
  finding.rule = "stale_optimizer";
  finding.severity = LOUPE_SEVERITY_ERROR;
  finding.message = "the optimizer holds the parameters of one instance of '" + model +
                    "', but the loss is computed by another: each of the " + std::to_string(shapes.size()) +
                    " parameters that the loss depends on has the shape of one that the optimizer holds, and none of "
                    "those has a gradient, so no step trains anything";
  finding.advice = "make the optimizer from the parameters of the instance whose forward is called";
  return finding;
}

bool holds_any(const ParameterSet& some, const ParameterSet& others) {
  return std::any_of(others.begin(), others.end(), [&](const auto* each) { return some.count(each) != 0; });
}

/// "a, b and 3 more": keeps a line short.
std::string short_list(const std::vector<std::string>& texts) {
  constexpr std::size_t most = 3;
  std::string list;
  for (std::size_t i = 0; i < std::min(texts.size(), most); ++i) list += (i > 0 ? ", " : "") + texts[i];
  return texts.size() > most ? list + " and " + std::to_string(texts.size() - most) + " more" : list;
}

/// The epoch after the last one of a resumed run, if the configuration names none.
double first_epoch_of(Inspector& inspector) {
  double last = 0;
  ProgramInspector::of(inspector).with_monitor([&](Monitor& monitor) {
    const auto recorded = monitor.display().last_before(std::numeric_limits<double>::infinity());
    if (recorded) last = recorded->epoch;
  });
  return std::floor(last) + 1;
}

/// Publishes a finding about the program as a whole, not about one of its models.
void publish(const Finding& finding, Inspector& inspector) {
  ProgramInspector::of(inspector).with_monitor([&](Monitor& monitor) { monitor.publish(finding.c_form(), "loupe"); });
}

/// Names the seed of random numbers, if the program has set one.
void tell_seed(Inspector& inspector) {
  const std::uint64_t seed = at::detail::getDefaultCPUGenerator().current_seed();
  if (seed != c10::default_rng_seed_val) inspector.set_hyperparameter("seed", std::to_string(seed));
}

}  // namespace

Inspector& WatchedProgram::inspector() {
  if (inspector_) return *inspector_;
  const ForksHeld whole;
  Config config = configuration_of_program(modules_.any());
  section_ = run_program_of(config);
  count_as(config.tick);
  const std::string train_loss = config.train_loss, validation_loss = config.validation_loss;
  for (const std::string& name : section_.losses) {
    if (name == "-") continue;
    config.train_loss = name;
    break;
  }
  if (config.train_loss == config.validation_loss) config.validation_loss += " (validation)";
  clock_.emplace(section_);
  for (const auto& [order, is_loader] : early_orders_) clock_->order_begins(order, is_loader);
  inspector_.emplace(ProgramInspector::make(std::move(config)));
  first_epoch_ = section_.first_epoch > 0 ? section_.first_epoch : first_epoch_of(*inspector_);
  ProgramInspector& program = ProgramInspector::of(*inspector_);
  program.show_all_found();
  losses_.emplace(program, ProgramLosses::Names{train_loss, validation_loss, section_.losses},
                  ProgramLosses::Tell{[this](const std::string& guess) { tell(guess, nullptr); },
                                      [this](const std::string& name, const std::string& what) {
                                        if (!has_told_first_lines_) first_losses_.push_back("'" + name + "'");
                                        tell("'" + name + "' is " + what, "loss", /*is_in_first_lines=*/true);
                                      }});
  program.with_monitor([this](Monitor& monitor) { monitor.begin_epochs_at(first_epoch_); });
  tell_seed(*inspector_);
  if (first_epoch_ != 1) tell("the first epoch is " + number_text(first_epoch_), "first_epoch", true);
  tell(clock_->description(), "epoch", true);
  return *inspector_;
}

/// Takes over run.tick as the length of an epoch, so that only one clock ticks.
void WatchedProgram::count_as(TickRule& tick) {
  using Epoch = RunProgramSection::Epoch;
  if (!tick.is_automatic()) return;
  if (section_.epoch == Epoch::automatic) {
    const bool counts_steps = tick.by == TickRule::By::steps;
    section_.epoch = counts_steps ? Epoch::steps : Epoch::seconds;
    section_.epoch_length = counts_steps ? static_cast<double>(tick.steps) : tick.seconds;
    if (!tick.of.empty()) log(LOUPE_LOG_WARNING, "run.tick.of is ignored: loupe run counts the steps of all models");
  } else {
    log(LOUPE_LOG_WARNING, "run.tick is ignored, because run_program.epoch also defines epochs; remove one of them");
  }
  tick = {};
}

void WatchedProgram::tell(const std::string& guess, const char* option, bool is_in_first_lines) {
  const std::string text = option != nullptr ? guess + " (change with run_program." + option + ")" : guess;
  ProgramInspector::of(*inspector_).note(LOUPE_NOTE_GUESS, text);
  if (has_told_first_lines_ || !is_in_first_lines) log(LOUPE_LOG_INFO, text);
}

void WatchedProgram::tell_first_lines() {
  if (std::exchange(has_told_first_lines_, true)) return;
  const std::string losses = short_list(first_losses_), models = short_list(first_models_);
  const std::string loss = losses.empty() ? "" : (first_losses_.size() == 1 ? "the loss " : "the losses ") + losses;
  if (!models.empty() || !loss.empty())
    log(LOUPE_LOG_INFO, "watching " + models + (models.empty() || loss.empty() ? "" : " and ") + loss);
  log(LOUPE_LOG_INFO,
      clock_->short_description() + (first_epoch_ != 1 ? "; the first is epoch " + number_text(first_epoch_) : ""));
}

void WatchedProgram::module_used(torch::nn::Module& module) {
  any_news_ = modules_.see(module) || any_news_;
}

void WatchedProgram::mode_set(torch::nn::Module& module, bool trains) {
  module_used(module);
  settle(false);
  const bool is_model =
      std::any_of(attached_.begin(), attached_.end(), [&](const Attached& each) { return each.module == &module; });
  if (is_model && clock_ && clock_->mode_set(trains)) end_epoch();
}

WatchedProgram::Optimizer& WatchedProgram::optimizer_at(const torch::optim::Optimizer* optimizer) {
  const auto known =
      std::find_if(optimizers_.begin(), optimizers_.end(), [&](const auto& each) { return each.first == optimizer; });
  return known != optimizers_.end() ? known->second : optimizers_.emplace_back(optimizer, Optimizer()).second;
}

void WatchedProgram::group_added(const torch::optim::Optimizer* optimizer,
                                 const torch::optim::OptimizerParamGroup& group) {
  Optimizer& known = optimizer_at(optimizer);
  // A new optimizer may have the address of a destroyed one: its first group then looks like a further group.
  known.waits = any_news_ = true;
  known.take(group.params());
  set_waiting();
}

void WatchedProgram::before_forward(torch::nn::Module& module) {
  if (!waits_) return;
  module_used(module);
  settle(false);
}

void WatchedProgram::order_begins(const void* order, bool is_loader) {
  constexpr std::size_t most_early = 16;
  if (!clock_ && early_orders_.size() < most_early) early_orders_.emplace_back(order, is_loader);
  if (clock_ && clock_->order_begins(order, is_loader)) end_epoch();
}

void WatchedProgram::scheduled() {
  if (clock_) clock_->hint(EpochClock::Hint::schedule);
}

/// Called when the next step begins.
void WatchedProgram::end_due_epoch() {
  if (!clock_) return;
  // Steps of optimizers that the program defines, which no tap sees, are noticed by changed parameters.
  const std::uint64_t unseen = unseen_step_count();
  for (; unseen_steps_ < unseen; ++unseen_steps_) clock_->stepped(&unseen_steps_);
  if (clock_->step_begins()) end_epoch();
}

/// The model that represents the script then reaches before_forward, like any module that runs.
void WatchedProgram::before_script(const torch::jit::Module& script) {
  std::erase_if(scripts_, [](const auto& each) { return !dynamic_cast<const ScriptRoot&>(*each).script_lives(); });
  if (waits_) scripts_.push_back(opened<ScriptTable>()->model_of(script));
}

/// Updates the parameters of an optimizer.
void WatchedProgram::know(const torch::optim::Optimizer& optimizer) {
  for (const auto& bare : bare_) {
    if (bare->follow(optimizer)) follow(*bare, optimizer);
  }
  std::size_t size = 0;
  for (const auto& group : optimizer.param_groups()) size += group.params().size();
  Optimizer& known = optimizer_at(&optimizer);
  if (known.size == size && !known.waits) return;
  known.size = size;
  known.steps = 0;
  known.waits = any_news_ = wants_leaves_ = true;
  known.parameters.clear();
  known.order.clear();
  for (const auto& group : optimizer.param_groups()) known.take(group.params());
  set_waiting();
}

void WatchedProgram::before_clearing(const torch::optim::Optimizer& optimizer) {
  know(optimizer);
  settle(false);
  end_due_epoch();
}

void WatchedProgram::before_step(const torch::optim::Optimizer& optimizer) {
  know(optimizer);
  settle(true);
  end_due_epoch();
  inspector();
  losses_->before_step(optimizer);
  Optimizer& known = optimizer_at(&optimizer);
  known.last_step = ++steps_;
  if (++known.steps == 1) {
    known.first_step = steps_;
    known.is_idle = tell_of_twin(optimizer);
    known.strangers.clear();
    for (const BareParameter& each : strangers_of(optimizer))
      known.strangers.emplace_back(BareParameter{each.optimizer, each.group, each.index, {}},
                                   each.tensor.getIntrusivePtr());
  }
  if (known.steps == 2 && !known.is_idle) take_strangers(optimizer);
}

std::vector<BareParameter> WatchedProgram::strangers_of(const torch::optim::Optimizer& optimizer) const {
  return bare_parameters(optimizer, [&](const at::Tensor& parameter) {
    return std::none_of(attached_.begin(), attached_.end(), [&](const Attached& each) {
      return each.parameters.count(parameter.unsafeGetTensorImpl()) != 0;
    });
  });
}

bool WatchedProgram::tell_of_twin(const torch::optim::Optimizer& optimizer) {
  const ParameterSet& held = optimizer_at(&optimizer).parameters;
  const auto is_its = [&](const Attached& each) { return holds_any(held, each.parameters); };
  const auto idle = std::find_if(attached_.begin(), attached_.end(), is_its);
  if (idle == attached_.end()) return false;  // their model no longer exists
  const auto finding = finding_of_twin(optimizer, std::exchange(leaves_, {}), idle->name);
  if (!finding) return false;
  publish(*finding, inspector());
  // This model does not run: further findings about it would only be consequences.
  std::erase_if(attached_, [&](const Attached& each) {
    const bool is_idle = is_its(each);
    if (is_idle) inspector_->detach(each.name);
    return is_idle;
  });
  return true;
}

/// Checks the parameters of an optimizer outside the models. Parameters of no module, such as fields and splats, are
/// also a model; if none of them ever gets a gradient, they are left from a destroyed model.
void WatchedProgram::take_strangers(const torch::optim::Optimizer& optimizer) {
  const std::vector<BareParameter> strangers = strangers_of(optimizer);
  if (strangers.empty()) return;
  const bool any_gradient = std::any_of(strangers.begin(), strangers.end(),
                                        [](const BareParameter& each) { return each.tensor.grad().defined(); });
  if (any_gradient && section_.models.empty()) return attach_bare(optimizer, strangers);
  tell(std::to_string(strangers.size()) + " parameters of an optimizer are in no known module" +
           (section_.models.empty() ? "" : " of the types that run_program.models names"),
       "models");
  const bool any_watched = strangers.size() < optimizer_at(&optimizer).parameters.size();
  if (any_gradient || any_watched) return;
  Finding finding;
  finding.rule = "stale_optimizer";
  finding.severity = LOUPE_SEVERITY_ERROR;
  finding.message = "the optimizer stepped, but none of the " + std::to_string(strangers.size()) +
                    " parameters that it holds has a gradient or is in a module that runs: they are another model's, "
                    "or a destroyed one's";
  finding.advice = "create the optimizer after the model, from the parameters of the model that runs";
  publish(finding, inspector());
}

/// Attaches such parameters together with those of other optimizers that step in turn with this one.
void WatchedProgram::attach_bare(const torch::optim::Optimizer& optimizer,
                                 const std::vector<BareParameter>& strangers) {
  for (const auto& bare : bare_) {
    if (adopt(*bare, strangers)) return follow(*bare, optimizer);
  }
  auto bare = std::make_shared<BareModel>();
  const auto take = [&](const BareParameter& each) { bare->take(each); };
  for (auto& [other, known] : optimizers_) {
    if (other == &optimizer) {
      std::for_each(strangers.begin(), strangers.end(), take);
      continue;
    }
    for (auto& [place, weak] : std::exchange(known.strangers, {})) {
      auto alive = weak.lock();
      if (!alive) continue;
      const BareParameter stranger{place.optimizer, place.group, place.index, at::Tensor(std::move(alive))};
      if (stranger.tensor.grad().defined() && bare->tensors().count(stranger.tensor.unsafeGetTensorImpl()) == 0)
        take(stranger);
    }
  }
  inspector();
  // Watching keeps such models alive, so only a few are watched.
  constexpr std::size_t most = 4;
  if (bare_.size() == most) bare_.pop_front();
  bare_.push_back(bare);
  attach({bare.get(), bare, bare->tensors()}, training_of(optimizer_at(&optimizer).parameters),
         "an optimizer holds its tensors, which are in no module");
}

bool WatchedProgram::adopt(BareModel& bare, const std::vector<BareParameter>& strangers) {
  const std::uint64_t since = optimizer_at(strangers.front().optimizer).first_step;
  const auto* const former = bare.adopt(strangers, [&](const torch::optim::Optimizer* other) {
    return other != strangers.front().optimizer && optimizer_at(other).last_step < since;
  });
  if (former != nullptr) clock_->succeed(former, strangers.front().optimizer);
  return former != nullptr;
}

void WatchedProgram::follow(BareModel& bare, const torch::optim::Optimizer& optimizer) {
  const auto attached =
      std::find_if(attached_.begin(), attached_.end(), [&](const Attached& each) { return each.module == &bare; });
  if (attached == attached_.end()) return;
  attached->parameters = bare.tensors();
  ProgramInspector::of(*inspector_).follow_parameters(attached->name);
  Optimizer& known = optimizer_at(&optimizer);
  known.parameters.clear();
  known.order.clear();
  for (const auto& group : optimizer.param_groups()) known.take(group.params());
}

void WatchedProgram::after_step(const torch::optim::Optimizer& optimizer) {
  inspector();
  if (losses_->any_nameless()) {
    std::vector<std::string> models;
    for (const Attached& each : attached_) {
      if (holds_any(optimizer_at(&optimizer).parameters, each.parameters)) models.push_back(each.name);
    }
    losses_->after_step(models);
  } else {
    tell_first_lines();
  }
  if (clock_->stepped(&optimizer)) end_epoch();
}

void WatchedProgram::before_backward(const at::Tensor& loss, const void* place) {
  if (optimizers_.empty()) return;
  settle(true);
  inspector();
  if (rows_ && rows_->begin_anew()) clock_->hint(EpochClock::Hint::rows);
  if (rows_ && rows_->has_erred()) clock_->forget_hints();
  if (rows_ && !(rows_->looks() && clock_->wants_rows())) rows_.reset();
  end_due_epoch();
  if (clock_->went_backward()) end_epoch();
  // A program that makes an optimizer for each batch would have this done each time.
  constexpr std::size_t most_optimizers = 16;
  if (std::exchange(wants_leaves_, false) && optimizers_.size() <= most_optimizers) leaves_ = leaves_of(loss);
  losses_->before_backward(loss, place, trainings());
}

void WatchedProgram::after_backward() {
  if (losses_) losses_->after_backward();
}

void WatchedProgram::computed(const at::Tensor& loss, const char* function) {
  if (losses_) losses_->computed(loss, function);
}

void WatchedProgram::evaluated(const at::Tensor& loss, const char* function, const void* place) {
  if (!clock_ || attached_.empty() || (at::GradMode::is_enabled() && clock_->trains())) return;
  clock_->hint(EpochClock::Hint::validation);
  losses_->evaluated(loss, function, place);
}

int WatchedProgram::training_of(const ParameterSet& parameters) {
  const auto known = std::find_if(attached_.begin(), attached_.end(),
                                  [&](const Attached& each) { return holds_any(parameters, each.parameters); });
  return known != attached_.end() ? known->training : ++last_training_;
}

std::size_t WatchedProgram::trainings() const {
  // This uses no set, because it runs at each backward pass.
  std::size_t count = 0;
  for (auto each = attached_.begin(); each != attached_.end(); ++each) {
    count +=
        std::none_of(attached_.begin(), each, [&](const Attached& other) { return other.training == each->training; });
  }
  return count;
}

ParameterSet WatchedProgram::without_attached(const ParameterSet& parameters) const {
  ParameterSet left = parameters;
  for (const Attached& each : attached_) {
    for (const auto* parameter : each.parameters) left.erase(parameter);
  }
  return left;
}

/// Counts an optimizer that waits for its models as an attachment: taps then report forwards.
void WatchedProgram::set_waiting() {
  const bool waits =
      std::any_of(optimizers_.begin(), optimizers_.end(), [](const auto& each) { return each.second.waits; });
  if (waits_.exchange(waits) == waits) return;
  count_active_attachments(waits ? 1 : -1);
}

void WatchedProgram::settle(bool all_there_is) {
  // Nothing is known about the program without any module, as before the first script runs.
  if (!waits_ || !(all_there_is || (any_news_ && modules_.any()))) return;
  any_news_ = false;
  inspector();
  for (auto& [optimizer, known] : optimizers_) {
    if (!known.waits) continue;
    const ParameterSet wanted = without_attached(known.parameters);
    ParameterSet others;
    for (const auto& [other, held] : optimizers_) {
      if (other != optimizer) others.insert(held.parameters.begin(), held.parameters.end());
    }
    // The optimizer of a destroyed model no longer trains; a part of the model may live on in another.
    const auto is_gone = [](const Attached& each) { return each.is_owned && each.owner.expired(); };
    for (const Attached& each : attached_) {
      if (!is_gone(each)) continue;
      for (const auto* parameter : each.parameters) others.erase(parameter);
    }
    for (const Attached& each : attached_) {
      if (!is_gone(each)) others.insert(each.parameters.begin(), each.parameters.end());
    }
    std::vector<FoundModel> found =
        wanted.empty() ? std::vector<FoundModel>() : modules_.find(wanted, others, section_.models);
    const auto place = [&order = known.order](const FoundModel& model) {
      return std::find_if(order.begin(), order.end(),
                          [&](const auto* parameter) { return model.parameters.count(parameter) != 0; });
    };
    std::stable_sort(found.begin(), found.end(),
                     [&](const FoundModel& a, const FoundModel& b) { return place(a) < place(b); });
    ParameterSet left = wanted;
    for (const FoundModel& model : found) {
      for (const auto* parameter : model.parameters) left.erase(parameter);
    }
    if (!left.empty() && !all_there_is) continue;
    known.waits = false;
    const int training = training_of(known.parameters);
    for (const FoundModel& model : found) {
      const bool is_whole = found.size() == 1 && left.empty();
      attach(model, training,
             is_whole ? "all " + std::to_string(wanted.size()) + " parameters of the optimizer"
                      : "some of the " + std::to_string(wanted.size()) + " parameters of the optimizer");
    }
  }
  set_waiting();
}

void WatchedProgram::detach_dead(const FoundModel& next) {
  std::erase_if(attached_, [&](const Attached& each) {
    const bool is_dead = each.is_owned ? each.owner.expired() : each.module == next.module;
    if (is_dead) inspector_->detach(each.name);
    return is_dead;
  });
}

void WatchedProgram::attach(const FoundModel& model, int training, const std::string& why) {
  detach_dead(model);
  const std::string kind = short_type(model.module->name());
  const int number = ++names_[kind];
  const std::string name = number > 1 ? kind + "#" + std::to_string(number) : kind;
  const std::string share = ProgramInspector::of(*inspector_).attach(*model.module, name);
  if (!has_told_first_lines_) first_models_.push_back("'" + name + "' (" + share + ")");
  tell_of_model(name, kind, why);
  if (attached_.empty()) rows_.emplace();
  if (rows_ && (attached_.empty() || attached_.front().training == training)) rows_->add(*model.module);
  attached_.push_back({name, kind, model.module, model.owner, model.owner != nullptr, model.parameters, training});
}

void WatchedProgram::tell_of_model(const std::string& name, const std::string& kind, const std::string& why) {
  const bool follows = name != kind && std::none_of(attached_.begin(), attached_.end(),
                                                    [&](const Attached& each) { return each.kind == kind; });
  if (!follows) return tell("watching '" + name + "': " + why, "models", /*is_in_first_lines=*/true);
  if (in_turn_.insert(kind).second)
    tell("watching '" + name + "' after '" + kind + "', which no longer exists; later models of this kind are numbered",
         "models");
}

void WatchedProgram::tell_models_in_turn() {
  for (const std::string& kind : in_turn_)
    tell("watched " + std::to_string(names_[kind]) + " models '" + kind + "' in turn", nullptr);
}

/// Reports the parts that were not judged. Without this, such a run would look healthy.
void WatchedProgram::tell_unobserved() {
  constexpr int enough_epochs = 3;
  std::vector<std::string> unobserved;
  if (names_.empty())
    unobserved.emplace_back(section_.models.empty() ? "any model (no optimizer holds one)"
                                                    : "any model (none has a type that run_program.models names)");
  if (!losses_->any()) {
    unobserved.emplace_back("any loss (backward() was called on no number)");
  } else if (trainings() > 1) {
    unobserved.emplace_back("the trend of the losses (several optimizers train)");
  } else if (epochs_ < enough_epochs) {
    unobserved.push_back("the trend of the loss (it needs " + std::to_string(enough_epochs) + " epochs; this run had " +
                         std::to_string(epochs_) + (clock_->knows_epochs() ? ")" : ", counted by steps)"));
  }
  std::string text;
  for (const std::string& each : unobserved) text += (text.empty() ? "not judged: " : "; ") + each;
  if (text.empty()) return;
  ProgramInspector::of(*inspector_).note(LOUPE_NOTE_UNOBSERVED, text);
  log(LOUPE_LOG_INFO, text);
}

/// If guessed epochs come faster than the budget pays for their reports, several are shown at a time.
void WatchedProgram::end_epoch(bool is_broken_off) {
  ++epochs_;
  reason_ = is_broken_off ? uint32_t{LOUPE_TICK_END} : clock_->reason();
  is_shown_ = false;
  losses_->end_epoch();
  tell_first_lines();
  for (const auto& bare : bare_)
    bare->each_length([this](const std::string& name, std::int64_t rows) {
      inspector_->push_metric("rows of " + name, static_cast<double>(rows));
    });
  if (!clock_->is_automatic() || ProgramInspector::of(*inspector_).pays_for_report()) show_epochs();
  clock_->ticked();
}

void WatchedProgram::show_epochs() {
  is_shown_ = true;
  ProgramInspector::of(*inspector_)
      .tick(first_epoch_ + epochs_ - 1, reason_, reason_ == LOUPE_TICK_END ? uint32_t{LOUPE_TICK_INCOMPLETE} : 0U);
}

void WatchedProgram::finish() {
  if (!inspector_) return;
  const bool never_trained = epochs_ == 0 && !names_.empty();  // shown, too
  const bool ticks = clock_->has_passes() || never_trained || !is_shown_;
  if (clock_->has_passes() || never_trained) end_epoch(clock_->counts() && clock_->has_passes());
  if (!is_shown_) show_epochs();
  tell_first_lines();
  tell_models_in_turn();
  tell_unobserved();
  rows_.reset();
  // Values since the last tick, for example of an evaluation, belong to no epoch.
  const auto end = [](Monitor& monitor) { monitor.end(LOUPE_END_COMPLETED, nullptr); };
  if (!ticks) ProgramInspector::of(*inspector_).with_monitor(end);
  inspector_.reset();
}

void WatchedProgram::give_up(const std::string& why) {
  log(LOUPE_LOG_ERROR, why + "; the program continues without Loupe");
  if (waits_.exchange(false)) count_active_attachments(-1);
  rows_.reset();
  if (inspector_) inspector_->detach();
  inspector_.reset();
}

void WatchedProgram::leave_parent() {
  // These objects are not destroyed: threads that exist only in the parent may hold their locks.
  for (WatchedProgram* parent = parent_.release(); parent != nullptr; parent = parent->parent_.release()) {
    const std::unique_lock lock(parent->mutex_, std::try_to_lock);
    if (lock) modules_ = parent->modules_;
  }
}

}  // namespace loupe
