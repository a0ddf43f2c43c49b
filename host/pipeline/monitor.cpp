// What a monitor is made of, and what leaves its lenses: notes, findings and incidents.

#include "pipeline/monitor.h"

#include <loupe/detail/whole.h>
#include <loupe/row.h>
#include <loupe/text/words.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "black_box/incident_folder.h"
#include "config/settings.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/utf8.h"
#include "loupe/config_error.h"

namespace loupe {
namespace {

RunDescription describe(const Config& config) {
  RunDescription run;
  run.name = utf8(config.run_name);
  run.directory = config.run_directory;
  run.config = utf8(config.text);
  run.settings = settings_of(run.config);
  for (const ComponentConfig& lens : config.lenses) run.lenses.emplace_back(lens.entry.component->name);
  run.start_time = wall_time();
  run.resumed = config.resume;
  run.rank = config.launch.rank;
  run.world_size = config.launch.world_size;
  run.train_loss = utf8(config.train_loss);
  run.validation_loss = utf8(config.validation_loss);
  return run;
}

}  // namespace

Monitor::Monitor(Config config, MonitorHost* host)
    : config_(std::move(config)),
      modules_(step_, config_.history),
      folder_(config_, display_),
      display_(this),
      incidents_(config_),
      schedule_(config_.active, static_cast<uint64_t>(config_.every), config_.budget),
      clock_(config_.tick),
      last_tick_(steady_time()),
      start_(std::chrono::steady_clock::now()),
      epoch_start_(start_),
      last_progress_(start_) {
  name_components_in_crashes();
  tell_problems();
  display_.set_run(describe(config_));
  display_.replace(config_.visualizers);
  expect_files_of(config_.visualizers);
  for (const ComponentConfig& lens : config_.lenses) {
    try {
      lenses_.push_back(std::make_unique<LensNode>(lens, config_.catalogue, config_.stop_on_error, *this));
    } catch (const std::exception& e) {
      throw ConfigError(lens.place() + "the lens '" + lens.name + "' cannot be made: " + e.what());
    }
  }
  begin_epoch();
  for (const auto& lens : lenses_) lens->attach();
  if (lenses_.empty() && !config_.visualizers.empty()) {
    log(LOUPE_LOG_WARNING, config_.file +
                               ": no lens is named, so the visualizers have nothing to show; name some under lenses "
                               "('loupe list' shows what there is)");
  }
  read_baseline();
  tell_problems();
  if (host != nullptr) host_ = host;
}

void Monitor::read_baseline() {
  if (config_.baseline.empty()) return;
  try {
    baseline_.emplace(Baseline::read(config_.baseline), config_.baseline_patience);
  } catch (const ConfigError& e) {
    throw ConfigError(config_.baseline_place + "the baseline of the lens '" + config_.baseline_lens +
                      "' cannot be used\n" + e.what());
  }
  display_.set_on_value(
      [this](const RowValue& value) { baseline_->add(value.tag, layer_of(value), value.line, value.value); });
}

void Monitor::tell_problems() {
  const std::vector<std::string>& problems = config_.catalogue.problems();
  for (; told_problems_ < problems.size(); ++told_problems_) log(LOUPE_LOG_WARNING, problems[told_problems_]);
}

loupe_moment Monitor::moment(double epoch) const {
  return {.step = step_,
          .epoch = epoch,
          .time = wall_time(),
          .elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()};
}

std::shared_ptr<ModuleNode> Monitor::add_module(ModuleDescription description, const std::shared_ptr<ModelNode>& model,
                                                const ModuleNode* parent) {
  auto node = take_module(std::move(description), model, parent);
  show_module(*node);
  return node;
}

std::shared_ptr<ModuleNode> Monitor::take_module(ModuleDescription description, const std::shared_ptr<ModelNode>& model,
                                                 const ModuleNode* parent) {
  const Exclusive::Call call(serial_, "visit", "the lenses", Reentry::allowed);
  auto node = modules_.add(std::move(description), model, parent);
  if (writes_incidents()) node->keep_last_steps();
  if (keeper_) keeper_->add_module(node->description());
  return node;
}

void Monitor::show_module(ModuleNode& module) {
  const Exclusive::Call call(serial_, "visit", "the lenses", Reentry::allowed);
  for (const auto& lens : lenses_) lens->visit(module);
  tell_problems();
}

void Monitor::remove_module(const std::shared_ptr<ModuleNode>& module) {
  module->close();
  if (module->unticked() != 0) return;
  for (const auto& lens : lenses_) lens->forget(*module);
  modules_.remove(module);
}

void Monitor::announce(const ModelNode& model) {
  const Exclusive::Call call(serial_, "model", "the visualizers");
  display_.model(*model.c_model());
  // An estimate is not a measured value, and the record and the report must say so.
  if (const std::string words = estimate_words(model.modules()); !words.empty()) note(LOUPE_NOTE_COST, words);
}

void Monitor::set_directory(const std::string& directory) {
  RunDescription run = display_.run();
  run.directory = config_.launch.folder_in(directory);
  display_.set_run(std::move(run));
  if (!writes_incidents()) return;
  for (const auto& module : modules_.all()) {
    const std::lock_guard lock(module->mutex());
    module->keep_last_steps();
  }
}

std::optional<double> Monitor::query(const std::string& key) {
  for (const auto& lens : lenses_) {
    if (const auto value = lens->query(key)) return value;
  }
  return std::nullopt;
}

void Monitor::note(uint32_t kind, const std::string& text, uint64_t finding) {
  outbox_->post({kind, utf8(text), moment(0), finding});
}

void Monitor::publish(const loupe_finding& finding, const std::string& speaker) {
  loupe_finding copy = detail::known_part(finding);
  copy.source = speaker.c_str();
  outbox_->post(copy);
}

void Monitor::show_messages() {
  if (!outbox_->has_messages()) return;
  folder_.claim();
  for (const Outbox::Message& message : outbox_->take_messages()) {
    if (const auto* finding = std::get_if<Outbox::OwnedFinding>(&message)) {
      show_finding((*finding)->get());
    } else {
      const auto& note = std::get<Outbox::Note>(message);
      loupe_moment at = note.at;
      at.epoch = epoch_at_hand();
      display_.note({.struct_size = sizeof(loupe_note),
                     .kind = note.kind,
                     .text = note.text.c_str(),
                     .at = at,
                     .finding = note.finding});
    }
  }
}

void Monitor::show_finding(const loupe_finding& finding) {
  loupe_finding placed = detail::known_part(finding);
  const SourceLine place = placed.file == nullptr ? modules_.place_of(placed) : SourceLine();
  if (!place.file.empty()) {
    placed.file = place.file.c_str();
    placed.line = place.line;
  }
  const loupe_finding* shown = findings_.add(placed, step_, epoch_at_hand());
  if (shown == nullptr) return;
  if (!config_.launch.shows()) tell_error(*shown);
  display_.finding(*shown);
  if (StepTrace* trace = timed_.trace()) trace->add(*shown, steady_time());
  if (folder_.is_own()) incidents_.consider(*shown);
  if (life_ == Life::runs) host_->finding_told(*shown);
}

/// Of a process that shows nothing itself: the first of each rule, and once that there are more.
void Monitor::tell_error(const loupe_finding& finding) const {
  if (finding.severity != LOUPE_SEVERITY_ERROR || finding.state != LOUPE_FINDING_RAISED) return;
  const Finding told = Finding::from(finding);
  const auto all = findings_.all();
  const auto count = std::count_if(all.begin(), all.end(), [&](const loupe_finding* each) {
    return each->severity == LOUPE_SEVERITY_ERROR && told.rule == each->rule && told.source == each->source;
  });
  const std::string where = told.rule + "; see " + display_.run().directory + ")";
  if (count == 1)
    log(LOUPE_LOG_ERROR, (told.layer.empty() ? "" : told.layer + ": ") + message_with_place(finding) + " (" + where);
  else if (count == 2)
    log(LOUPE_LOG_ERROR, "the same of more layers (" + where);
}

void Monitor::judge_departures() {
  if (!baseline_) return;
  for (const Finding& finding : baseline_->end_tick(epoch_))
    publish(finding.c_form(), "the lens '" + config_.baseline_lens + "'");
  if (const std::string lacking = baseline_->take_lacking(); !lacking.empty()) log(LOUPE_LOG_WARNING, lacking);
}

void Monitor::write_due_incident() {
  if (const std::optional<IncidentCause> cause = incidents_.take_due()) {
    keep_incident(*cause);
    show_messages();
  }
}

void Monitor::keep_incident(const IncidentCause& cause) {
  write_incident(cause);
  if (keeper_)
    keeper_->tell_incident(cause.rule.empty() ? cause.how : cause.rule + " at step " + std::to_string(step_));
}

void Monitor::join(const Launch& launch) {
  const std::size_t lenses = config_.lenses.size();
  config_.join(launch);
  display_.set_run(describe(config_));
  if (!config_.launch.shows()) display_.replace(config_.visualizers);
  for (std::size_t i = lenses; i < config_.lenses.size(); ++i) {
    lenses_.push_back(std::make_unique<LensNode>(config_.lenses[i], config_.catalogue, config_.stop_on_error, *this));
    lenses_.back()->attach();
    for (const auto& module : modules_.all()) lenses_.back()->visit(*module);
  }
}

void Monitor::keep_ticks(std::unique_ptr<TickKeeper> keeper) {
  keeper_ = std::move(keeper);
  for (const auto& module : modules_.all()) keeper_->add_module(module->description());
  display_.hold_ticks();
}

void Monitor::show_complete(TickKeeper::Complete complete) {
  for (const auto& [level, line] : complete.log) log(level, line);
  for (const std::string& text : complete.told_notes) note(LOUPE_NOTE_RANKS, text);
  for (const std::string& text : complete.notes) {
    log(LOUPE_LOG_WARNING, text);
    note(LOUPE_NOTE_RANKS, text);
  }
  for (auto& tick : complete.ticks) display_.show(std::move(tick));
  for (const auto& finding : complete.findings) publish(finding->get(), finding->get().source);
  show_messages();
  if (!writes_incidents()) return;
  for (const std::string& why : complete.incidents) {
    // What is the same fault everywhere is kept once everywhere.
    if (incident_step_ && step_ < *incident_step_ + LastSteps::size) continue;
    write_incident({"rank", why});
    show_messages();
  }
}

void Monitor::tell_fault() {
  if (const std::string fault = display_.take_fault(); !fault.empty()) keeper_->tell_fault(fault);
}

void Monitor::finish_ticks() {
  if (!keeper_) return;
  display_.wait();
  tell_fault();
  show_complete(keeper_->finish());
}

std::string Monitor::write_incident(const IncidentCause& cause) try {
  folder_.claim();
  if (!incidents_.admit(cause, display_.run())) return "";
  incident_step_ = step_;
  const SaveTensor save = config_.incident_tensors ? host_->tensor_saver() : SaveTensor();
  const std::string folder =
      write_incident_folder({cause, display_.run(), step_, epoch_at_hand(), wall_time(), incidents_, modules_.all(),
                             findings_.all(), host_->optimizers(), save});
  const std::string kept = "the last steps before " +
                           (cause.how == "finding" ? "the finding '" + cause.rule + "'"
                            : cause.how == "rank"  ? cause.why
                                                   : cause.how) +
                           " are kept: loupe replay " + folder;
  log(LOUPE_LOG_WARNING, kept);
  note(LOUPE_NOTE_INCIDENT, kept + " (as a page with --visualizer html --out FOLDER)", cause.finding);
  return folder;
} catch (const std::exception& e) {
  log(LOUPE_LOG_WARNING, std::string("an incident cannot be written into run.dir: ") + e.what() +
                             "; check disk space and permissions, or set 'incidents: 0' under run");
  return "";
}

std::string Monitor::dump(const std::string& why) {
  if (!folder_.is_own()) {
    log(LOUPE_LOG_WARNING, "dump(\"" + why +
                               "\") writes nothing, because the run has no folder of its own; give it one in the "
                               "configuration: run: {dir: runs/NAME}");
    return "";
  }
  return write_incident({"dump", utf8(why)});
}

}  // namespace loupe
