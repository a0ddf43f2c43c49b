#include "pipeline/monitor.h"

#include <loupe/number_text.h>
#include <loupe/options.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <iterator>
#include <map>
#include <utility>

#include "core/clock.h"
#include "core/log.h"
#include "core/utf8.h"
#include "loupe/config_error.h"
#include "pipeline/estimates.h"

namespace loupe {

namespace {

/// Everybody asks for the learning rate's curve: its lens comes with loss_metrics, where no other lens shows it.
std::optional<ComponentConfig> rate_lens(const Config& config) {
  const auto is = [](const ComponentConfig& lens, const char* name) {
    return std::strcmp(lens.entry.component->name, name) == 0;
  };
  const auto shows_rates = [&](const ComponentConfig& lens, const char* name) {
    const Options options(lens.options->get());
    return is(lens, name) && options.has("learning_rate") && options.get<bool>("learning_rate");
  };
  const auto losses = std::find_if(config.lenses.begin(), config.lenses.end(),
                                   [&](const ComponentConfig& lens) { return shows_rates(lens, "loss_metrics"); });
  const bool named = std::any_of(config.lenses.begin(), config.lenses.end(), [&](const ComponentConfig& lens) {
    return is(lens, "learning_rate") || shows_rates(lens, "run_statistics");
  });
  if (losses == config.lenses.end() || named) return std::nullopt;
  const CatalogueEntry* entry = config.catalogue.find(Kind::lens, "learning_rate");
  if (entry == nullptr) return std::nullopt;
  ComponentConfig lens;
  lens.entry = *entry;
  lens.name = entry->component->name;
  Diagnostics none("");
  lens.options = OptionSet::from_yaml(entry->options(), YAML::Node(YAML::NodeType::Map), lens.name, none);
  lens.file = losses->file;
  lens.line = losses->line;
  lens.column = losses->column;
  lens.active = losses->active;
  return lens;
}

}  // namespace

Monitor::Monitor(Config config)
    : config_(std::move(config)),
      display_(this),
      black_box_(config_.incidents),
      pushes_(std::make_shared<ModuleNode>(0, ModuleDescription{}, step_)),
      sampling_(static_cast<uint64_t>(config_.every)),
      start_(std::chrono::steady_clock::now()),
      epoch_start_(start_),
      last_progress_(start_) {
  pushes_->stand_for_pushes();
  last_tick_ = step_start_ = ticked_time_ = steady_time();
  if (config_.budget > 0) {
    budget_.emplace(
        config_.budget, [this] { return lens_charges(); }, sampling_.every());
    sampling_.set_every(budget_->every());
  }
  name_components_in_crashes();
  tell_problems();
  RunDescription run;
  run.name = utf8(config_.run_name);
  run.directory = config_.run_directory;
  run.config = utf8(config_.text);
  run.start_time = wall_time();
  run.resumed = config_.resume;
  run.train_loss = utf8(config_.train_loss);
  run.validation_loss = utf8(config_.validation_loss);
  display_.set_run(std::move(run));
  display_.replace(config_.visualizers);
  expect_files_of(config_.visualizers);
  for (const ComponentConfig& lens : config_.lenses) {
    try {
      lenses_.push_back(std::make_unique<LensNode>(lens, config_.catalogue, config_.stop_on_error, *this));
    } catch (const std::exception& e) {
      throw ConfigError(lens.place() + "the lens '" + lens.name + "' cannot be made: " + e.what());
    }
  }
  if (const std::optional<ComponentConfig> lens = rate_lens(config_))
    lenses_.push_back(std::make_unique<LensNode>(*lens, config_.catalogue, config_.stop_on_error, *this));
  set_active([every = config_.active](int64_t tick) { return tick % every == 0; });
  for (const auto& lens : lenses_) lens->attach();
  if (lenses_.empty() && !config_.visualizers.empty()) {
    log(LOUPE_LOG_WARNING, config_.file +
                               ": no lens is named, so the visualizers have nothing to show; name some "
                               "under lenses, such as health and loss_metrics");
  }
  if (!config_.baseline.empty()) {
    try {
      baseline_.emplace(Baseline::read(config_.baseline), config_.baseline_patience);
    } catch (const ConfigError& e) {
      throw ConfigError(config_.baseline_place + "the baseline of the lens 'health' cannot be used\n" + e.what());
    }
    display_.set_on_value([this](const loupe_value& value) { baseline_->take(value); });
  }
  tell_problems();
}

void Monitor::tell_problems() {
  const std::vector<std::string>& problems = config_.catalogue.problems();
  for (; told_problems_ < problems.size(); ++told_problems_) log(LOUPE_LOG_WARNING, problems[told_problems_]);
}

Monitor::~Monitor() {
  if (abnormal_end_) AbnormalEnd::act_on_signal();
  abnormal_end_.reset();
  for (const auto& module : modules_) module->close();
  tell_of_unticked();
  tell_pending();
  const bool early = epochs_ > 0 && epoch_ < epochs_;
  display_.end({sizeof(loupe_ending), static_cast<uint32_t>(early ? LOUPE_END_INTERRUPTED : LOUPE_END_COMPLETED), step_,
                epoch_, wall_time(), elapsed(), nullptr});
}

uint64_t Monitor::unticked() const {
  uint64_t count = pushes_->unticked();
  for (const auto& module : modules_) count += module->unticked();
  return count;
}

/// What came after the last tick is in no record.
void Monitor::tell_of_unticked() const {
  const uint64_t count = unticked();
  // A trainer that an exception ends has more to tell than that.
  if (count == 0 || std::uncaught_exceptions() > 0) return;
  log(LOUPE_LOG_WARNING,
      std::to_string(count) + (count == 1 ? " value that came" : " values that came") + " after the last tick " +
          (count == 1 ? "is" : "are") +
          " not shown; end with inspector.tick_epoch(), or call detach() before what is not to be watched");
}

/// A lens may ask for a module's second output, which only some modules give.
void Monitor::tell_of_lacking() {
  constexpr std::size_t shown_modules = 5;
  std::map<std::string, std::vector<std::string>> modules;  // by what they lack
  for (const auto& module : modules_) {
    for (Stream& stream : module->streams()) {
      if (!stream.take_lacking()) continue;
      const bool is_output = stream.tap() == LOUPE_TAP_FORWARD || stream.tap() == LOUPE_TAP_OUTPUT_GRADIENT;
      auto& names = modules[(is_output ? "output " : "input ") + std::to_string(stream.index())];
      const std::string name = "'" + module->description().name + "'";
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  for (const auto& [what, names] : modules) {
    std::string all;
    for (std::size_t i = 0; i < names.size() && i < shown_modules; ++i) all += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > shown_modules) all += " and " + std::to_string(names.size() - shown_modules) + " more modules";
    log(LOUPE_LOG_WARNING, "there is no " + what + " of " + all +
                               ", which a lens asks for, so nothing is shown of it; let the lens include only modules "
                               "that have it (counted from 0)");
  }
}

void Monitor::judge_costs() {
  const double now = steady_time(), wall = now - std::exchange(last_tick_, now);
  if (!active_) return;
  for (const auto& lens : lenses_) lens->judge_cost(wall);
}

double Monitor::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

ModuleNode& Monitor::node_of(const loupe_module* module) {
  if (module == nullptr) return *pushes_;
  const auto found = modules_by_id_.find(module->id);
  if (found == modules_by_id_.end()) throw Error("a watch names a module that is not attached", LOUPE_INVALID);
  return *found->second;
}

const loupe_module* Monitor::module_called(const char* name) const {
  const auto found = modules_by_name_.find(name);
  return found == modules_by_name_.end() ? nullptr : found->second;
}

std::shared_ptr<ModuleNode> Monitor::add_module(ModuleDescription description) {
  const Exclusive::Call call(serial_, "visit", "the lenses");
  if (description.lend) {
    const std::lock_guard lock(lenders_mutex_);
    lenders_.emplace(next_id_, description.lend);
  }
  auto node = std::make_shared<ModuleNode>(next_id_++, std::move(description), step_, config_.history);
  if (config_.incidents > 0 && has_own_folder()) node->keep_steps();
  modules_.push_back(node);
  modules_by_id_[node->c_module()->id] = node.get();
  modules_by_name_[node->description().name] = node->c_module();
  has_new_modules_ = true;
  for (const auto& lens : lenses_) lens->visit(*node);
  tell_problems();
  return node;
}

void Monitor::remove_module(const std::shared_ptr<ModuleNode>& module) {
  module->close();
  if (module->unticked() != 0) return;
  forget(*module);
  // From the back: a model's modules are taken away from its last on.
  const auto found = std::find(modules_.rbegin(), modules_.rend(), module);
  if (found != modules_.rend()) modules_.erase(std::next(found).base());
}

bool Monitor::lend(const loupe_module& module, const std::string& name, bool gradient, const Take& take) {
  decltype(ModuleDescription::lend) lender;
  {
    const std::lock_guard lock(lenders_mutex_);
    const auto found = lenders_.find(module.id);
    if (found != lenders_.end()) lender = found->second;
  }
  return lender && lender(name, gradient, take);
}

void Monitor::forget(const ModuleNode& module) {
  {
    const std::lock_guard lock(lenders_mutex_);
    lenders_.erase(module.c_module()->id);
  }
  modules_by_id_.erase(module.c_module()->id);
  for (const auto& lens : lenses_) lens->forget(module);
  const auto named = modules_by_name_.find(module.description().name);
  if (named != modules_by_name_.end() && named->second == module.c_module()) modules_by_name_.erase(named);
}

void Monitor::announce(const ModelDescription& model) {
  const Exclusive::Call call(serial_, "model", "the visualizers");
  std::vector<const loupe_module*> modules;
  for (const auto& module : model.modules) modules.push_back(module->c_module());
  const std::string name = utf8(model.name);
  const std::string type = utf8(model.type);
  display_.model(
      {sizeof(loupe_model), 0, name.c_str(), type.c_str(), model.parameter_elements, modules.data(), modules.size()});
  // What is estimated is no measured value, and the record and the report must say so.
  if (const std::string words = estimate_words(model.modules); !words.empty()) note(LOUPE_NOTE_COST, words);
}

void Monitor::introduce() {
  if (!std::exchange(has_new_modules_, false)) return;
  for (const auto& lens : lenses_) lens->introduce(display_);
}

void Monitor::set_active(std::function<bool(int64_t)> when) {
  active_when_ = std::move(when);
  look_or_not();
}

void Monitor::expect_files_of(const std::vector<ComponentConfig>& visualizers) {
  for (const ComponentConfig& component : visualizers) {
    const Options options(component.options->get());
    if (!options.has("path")) continue;
    if (const auto path = options.get<std::string>("path"); !path.empty()) files_.push_back(path);
  }
}

/// At the last moment: a trainer that fails before its first epoch moves nothing.
void Monitor::take_folder() {
  RunDescription run = display_.run();
  if (taken_ != run.directory && !(config_.lenses.empty() && config_.visualizers.empty())) {
    const bool shared = !config_.has_run_directory && run.directory == config_.run_directory;
    if (shared) {
      folder_.take("");
    } else {
      run.directory = folder_.take(run.directory);
    }
    taken_ = run.directory;
    display_.set_run(run);
  }
  if (run.resumed || taken_ != run.directory) return;
  kept_older_ = folder_.keep_older(std::exchange(files_, {})) || kept_older_;
}

void Monitor::push(const std::string& label, double value, uint32_t flags) {
  if (config_.tick.by == TickRule::By::seconds) look_at_clock();
  constexpr uint32_t training_loss = LOUPE_EVENT_LOSS | LOUPE_EVENT_TRAINING;
  constexpr uint64_t steps_to_see = 20;
  // Who made it shows in the steps after: what it did to the model stays.
  if ((flags & training_loss) == training_loss && !std::isfinite(value)) sampling_.look_fully(steps_to_see);
  if (!active_) return;
  const std::string shown = utf8(label);
  black_box_.pushed(shown, value, flags, step_);
  if (Stream* stream = pushes_->stream(LOUPE_TAP_PUSH)) stream->dispatch(nullptr, flags, nullptr, value, shown.c_str());
}

void Monitor::note(uint32_t kind, std::string text) {
  const std::lock_guard lock(pending_mutex_);
  pending_notes_.push_back({kind, utf8(std::move(text)), step_, wall_time()});
  has_pending_ = true;
}

void Monitor::publish(const loupe_finding& finding, const std::string& speaker) {
  loupe_finding copy = copy_known(finding);
  copy.source = speaker.c_str();
  auto kept = std::make_unique<detail::Owned<loupe_finding>>(copy);
  if (kept->get().rule == nullptr || kept->get().message == nullptr) {
    throw Error("a finding needs a rule and a message", LOUPE_INVALID);
  }
  const std::lock_guard lock(pending_mutex_);
  pending_findings_.push_back(std::move(kept));
  has_pending_ = true;
}

void Monitor::quarantined(const std::string& message) {
  note(LOUPE_NOTE_QUARANTINE, message);
}

void Monitor::take_finding(const loupe_finding& finding) {
  const loupe_finding* shown = findings_.take(finding, step_, epoch_at_hand());
  if (shown == nullptr) return;
  take_folder();
  display_.finding(*shown);
  ask_for_incident(*shown);
  if (findings_.listener()) findings_.listener()(*shown);
}

void Monitor::tell_pending() {
  if (!has_pending_) return;
  take_folder();
  std::vector<Note> notes;
  std::vector<std::unique_ptr<detail::Owned<loupe_finding>>> findings;
  {
    const std::lock_guard lock(pending_mutex_);
    notes.swap(pending_notes_);
    findings.swap(pending_findings_);
    has_pending_ = false;
  }
  for (const Note& note : notes) {
    display_.note({sizeof(loupe_note), note.kind, note.text.c_str(), note.step, epoch_at_hand(), note.time});
  }
  for (const auto& finding : findings) {
    try {
      take_finding(finding->get());
    } catch (const Error& e) {
      log(LOUPE_LOG_WARNING, std::string(finding->get().source) + " published a finding that is left out: " + e.what());
    }
  }
}

void Monitor::tick(std::optional<double> epoch, uint32_t reason, uint32_t flags) {
  const Exclusive::Call call(serial_, "tick", "the inspector");
  epoch_ = epoch.value_or(epoch_ + 1);
  if (tick_ == 1) first_epoch_ = epoch_;
  if (active_) {
    in_tick_ = true;
    take_folder();
    if (before_tick_) before_tick_();
    for (const auto& module : modules_) module->collect_deferred();
    tell_of_lacking();
    const std::vector<const loupe_optimizer*> optimizers =
        optimizers_ ? optimizers_() : std::vector<const loupe_optimizer*>();
    const loupe_tick tick{sizeof(loupe_tick),
                          reason,
                          flags,
                          0,
                          static_cast<uint64_t>(tick_ - 1),
                          epoch_,
                          step_,
                          wall_time(),
                          elapsed(),
                          optimizers.data(),
                          optimizers.size()};
    if (std::exchange(kept_older_, false) && first_epoch_ > 1) {
      log(LOUPE_LOG_WARNING,
          "this run began with a later epoch than the first; if it goes on with the run before it, "
          "set 'resume: true' under run, and its files go on too");
    }
    introduce();
    display_.begin_tick(tick);
    for (const auto& lens : lenses_) lens->report(tick, display_);
    judge_departures();
    tell_pending();
    display_.end_tick();
    write_incidents();
    in_tick_ = false;
    pushes_->ticked();
    for (const auto& module : modules_) module->ticked();
  }
  const auto open =
      std::stable_partition(modules_.begin(), modules_.end(), [](const auto& module) { return !module->closed(); });
  std::for_each(open, modules_.end(), [this](const auto& module) { forget(*module); });
  modules_.erase(open, modules_.end());
  judge_costs();
  steps_before_ = std::exchange(steps_, 0);
  ticked_step_ = step_;
  ticked_time_ = step_start_ = steady_time();
  due_ = 0;
  epoch_start_ = std::chrono::steady_clock::now();
  ++tick_;
  look_or_not();
}

void Monitor::look_or_not() {
  const bool was_active = std::exchange(active_, active_when_(tick_));
  bool changed = active_ != was_active, begins = active_ && !was_active;
  for (const auto& lens : lenses_) {
    if (!lens->look_at(active_, tick_)) continue;
    changed = true;
    begins = begins || lens->looks();
  }
  if (!changed) return;
  if (active_ && !was_active) sampling_.restart();
  if (active_ != was_active && budget_) {
    budget_->interrupt();
    if (active_) skip_apart();
  }
  pushes_->follow_lenses();
  for (const auto& module : modules_) module->follow_lenses();
  if (begins && on_resume_) on_resume_();
}

void Monitor::note_step(const loupe_optimizer* optimizer, bool counts) {
  const Exclusive::Call call(serial_, "step", "the inspector");
  in_tick_ = false;  // also where a lens's exception ended the last tick
  if (counts) {
    ++steps_;
    ++step_;
    step_counted_ = true;
  }
  const auto now = std::chrono::steady_clock::now();
  if (looks()) {
    const double since_start = std::chrono::duration<double>(now - start_).count();
    const loupe_step step{sizeof(loupe_step), 0,         step_,  epoch_ + 1, display_.run().start_time + since_start,
                          since_start,        optimizer, epochs_};
    for (const auto& lens : lenses_) {
      if (lens->wants_steps()) lens->step(step);
    }
  }
  if (optimizer != nullptr) black_box_.stepped(*optimizer, step_);
  tell_pending();
  write_incidents();
  if (now - last_progress_ < std::chrono::milliseconds(200) || !display_.wants_progress()) return;
  last_progress_ = now;
  take_folder();
  const loupe_progress progress{sizeof(loupe_progress),
                                0,
                                epoch_ + 1,
                                epochs_,
                                steps_,
                                steps_before_,
                                std::chrono::duration<double>(now - epoch_start_).count(),
                                step_};
  display_.progress(progress);
}

void Monitor::set_directory(const std::string& directory) {
  RunDescription run = display_.run();
  run.directory = directory;
  display_.set_run(std::move(run));
  if (config_.incidents == 0 || !has_own_folder()) return;
  for (const auto& module : modules_) {
    const std::lock_guard lock(module->mutex());
    module->keep_steps();
  }
}

bool Monitor::has_own_folder() const {
  return config_.master && (config_.has_run_directory || display_.run().directory != config_.run_directory);
}

void Monitor::ask_for_incident(const loupe_finding& finding) {
  if (finding.state == LOUPE_FINDING_GONE || !has_own_folder()) return;
  const std::string& answer = finding.severity == LOUPE_SEVERITY_ERROR     ? config_.on_finding_error
                              : finding.severity == LOUPE_SEVERITY_WARNING ? config_.on_warning
                                                                           : config_.on_info;
  if (finding.severity == LOUPE_SEVERITY_ERROR || answer == "dump") black_box_.ask(finding);
}

void Monitor::write_incidents() {
  if (const std::optional<IncidentCause> cause = black_box_.take_due()) write_incident(*cause);
  if (!abnormal_end_ && config_.incidents > 0 && has_own_folder()) {
    abnormal_end_ = std::make_unique<AbnormalEnd>([this](const std::string& how, const std::string& why) {
      write_incident({how, why, {}, {}, {}});
    });
  }
  if (!AbnormalEnd::signal_came()) return;
  display_.flush();
  AbnormalEnd::act_on_signal();
}

std::string Monitor::write_incident(const IncidentCause& cause) try {
  take_folder();
  const std::vector<const loupe_optimizer*> optimizers =
      optimizers_ ? optimizers_() : std::vector<const loupe_optimizer*>();
  const std::string folder =
      loupe::write_incident({cause, display_.run(), step_, epoch_at_hand(), wall_time(), black_box_, modules_,
                             findings_.all(), optimizers, config_.incident_tensors ? save_tensor_ : SaveTensor()});
  log(LOUPE_LOG_WARNING, "what the last steps measured is kept in '" + folder + "', because of " +
                             (cause.how == "finding" ? "the finding '" + cause.rule + "'" : cause.how) +
                             "; 'loupe replay' shows it");
  return folder;
} catch (const std::exception& e) {
  log(LOUPE_LOG_WARNING, std::string("an incident cannot be written into run.dir: ") + e.what() +
                             "; give it room and rights, or set 'incidents: 0' under run");
  return "";
}

std::string Monitor::dump(const std::string& why) {
  if (!has_own_folder()) {
    log(LOUPE_LOG_WARNING, "dump(\"" + why +
                               "\") writes nothing, for the run has no folder of its own; give it one in "
                               "the configuration: run: {dir: runs/NAME}");
    return "";
  }
  if (!black_box_.allow_dump()) {
    log(LOUPE_LOG_WARNING, "dump(\"" + why + "\") writes nothing, for this run has written as many as it may (" +
                               std::to_string(black_box_.most()) + "); raise 'incidents' under run");
    return "";
  }
  return write_incident({"dump", utf8(why), {}, {}, {}});
}

void Monitor::judge_departures() {
  if (!baseline_) return;
  for (Finding& finding : baseline_->end_tick(epoch_)) {
    finding.source = "the lens 'health'";
    take_finding(finding.c_form());
  }
  if (const std::string lacking = baseline_->take_lacking(); !lacking.empty()) log(LOUPE_LOG_WARNING, lacking);
}

std::string Monitor::sampling_words() const {
  if (!budget_) return sampling_.every() > 1 ? ", looks at one step in " + std::to_string(sampling_.every()) : "";
  return ", looks as often as " + rounded_text(100 * config_.budget) + " % of the time allow (now at " +
         budget_->frequency() + ")";
}

void Monitor::end_step(bool seen) {
  if (!std::exchange(step_counted_, false)) return;
  if (sampling_.every() > 1 || budget_) {
    const double now = budget_ ? steady_time() : 0;
    const bool looked = sampling_.looking();
    if (budget_ && active_) keep_to_budget(now);
    if (seen) {
      sampling_.step_over();
    } else {
      sampling_.restart();  // steps that nobody sees cannot be counted while nobody looks
    }
    if (budget_ && active_) skip_apart();
    if (active_ && sampling_.looking() != looked) {
      if (!looked) {
        for (const auto& module : modules_) module->forget_history();
      }
      if (on_look_) on_look_();
    }
    step_start_ = now;
  }
  look_at_clock();
  if (due_ != 0 && on_due_) on_due_();
}

void Monitor::keep_to_budget(double now) {
  using Looked = Budget::Looked;
  if (apart_ != nullptr && apart_->quarantined()) budget_->lose_apart();
  const bool all_look = apart_ == nullptr || (apart_->looks() && !apart_->skips());
  const Looked looked = !sampling_.looking() ? Looked::no : all_look ? Looked::all : Looked::without_one;
  const bool is_new = budget_->step(now - step_start_, looked);
  sampling_.set_every(budget_->every());
  sampling_.set_apart(budget_->multiple());
  if (!is_new) return;
  log(LOUPE_LOG_INFO, "Loupe " + budget_->words());
  note(LOUPE_NOTE_COST, "Loupe " + budget_->words());
}

std::vector<Budget::Charge> Monitor::lens_charges() const {
  std::vector<Budget::Charge> charges;
  for (const auto& lens : lenses_) charges.push_back({lens->name(), lens->seconds_in_steps()});
  return charges;
}

/// The lens that the budget sets apart looks at the step that begins, or does not.
void Monitor::skip_apart() {
  LensNode* const apart = budget_->apart() ? lenses_[*budget_->apart()].get() : nullptr;
  bool changed = false;
  if (apart_ != nullptr && apart_ != apart) changed = apart_->skip(false);
  apart_ = apart;
  // While nobody looks at steps, it is as it was.
  if (apart_ != nullptr && sampling_.looking()) changed = apart_->skip(!sampling_.looking_apart()) || changed;
  if (!changed) return;
  for (const auto& module : modules_) module->follow_lenses();
}

void Monitor::look_at_clock() {
  const TickRule& rule = config_.tick;
  if (rule.by == TickRule::By::steps && step_ - ticked_step_ >= rule.steps) due_ = LOUPE_TICK_STEPS;
  if (rule.by == TickRule::By::seconds && steady_time() - ticked_time_ >= rule.seconds) due_ = LOUPE_TICK_SECONDS;
}

bool Monitor::tick_if_due() {
  if (due_ == 0 || in_tick_) return false;
  tick(std::nullopt, std::exchange(due_, 0));
  return true;
}

void Monitor::tick_rest() {
  if (!config_.tick.is_automatic() || (step_ == ticked_step_ && unticked() == 0)) return;
  tick(std::nullopt, LOUPE_TICK_END, LOUPE_TICK_INCOMPLETE);
}

void Monitor::begin_after(uint64_t steps) {
  step_ = ticked_step_ = steps;
  if (config_.tick.by == TickRule::By::steps) epoch_ = static_cast<double>(steps / config_.tick.steps);
}

std::optional<double> Monitor::query(const std::string& key) {
  for (const auto& lens : lenses_) {
    if (const auto value = lens->query(key)) return value;
  }
  return std::nullopt;
}

}  // namespace loupe
