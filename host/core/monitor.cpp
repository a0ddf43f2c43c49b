#include "core/monitor.h"

#include <algorithm>

#include "core/log.h"
#include "loupe/config_error.h"

namespace loupe {

Monitor::Monitor(Config config)
    : config_(std::move(config)),
      pushes_(std::make_shared<ModuleNode>(0, ModuleDescription{})),
      epoch_start_(std::chrono::steady_clock::now()),
      last_progress_(epoch_start_) {
  pushes_->stand_for_pushes();
  for (const std::string& problem : config_.catalogue.problems()) log(LOUPE_LOG_WARNING, problem);
  display_.set_run({config_.run_name, config_.run_directory, config_.text, "[]", utc_now(), config_.resume});
  display_.replace(config_.visualizers);
  for (const ComponentConfig& lens : config_.lenses) {
    try {
      lenses_.push_back(
          std::make_unique<LensNode>(lens, config_.catalogue, config_.stop_on_error,
                                     [this](const loupe_module* module) -> ModuleNode& { return node_of(module); }));
    } catch (const std::exception& e) {
      throw ConfigError(lens.place() + "the lens '" + lens.name + "' cannot be made: " + e.what());
    }
  }
  set_active([every = config_.active](int64_t tick) { return tick % every == 0; });
  for (const auto& lens : lenses_) lens->attach();
}

Monitor::~Monitor() {
  for (const auto& module : modules_) module->close();
  display_.end();
}

ModuleNode& Monitor::node_of(const loupe_module* module) {
  if (module == nullptr) return *pushes_;
  const auto found = std::find_if(modules_.begin(), modules_.end(),
                                  [&](const auto& each) { return each->c_module()->id == module->id; });
  if (found == modules_.end()) throw Error("a watch names a module that is not attached", LOUPE_INVALID);
  return **found;
}

std::shared_ptr<ModuleNode> Monitor::add_module(ModuleDescription description) {
  auto node = std::make_shared<ModuleNode>(next_id_++, std::move(description));
  modules_.push_back(node);
  for (const auto& lens : lenses_) lens->visit(*node);
  return node;
}

void Monitor::remove_module(const std::shared_ptr<ModuleNode>& module) {
  module->close();
}

void Monitor::introduce() {
  for (const auto& lens : lenses_) lens->introduce(display_);
}

void Monitor::set_active(std::function<bool(int64_t)> when) {
  active_when_ = std::move(when);
  look_or_not();
}

void Monitor::push(const std::string& label, double value, uint32_t flags) {
  Stream* stream = active_ ? pushes_->stream(LOUPE_TAP_PUSH) : nullptr;
  if (stream != nullptr) stream->dispatch(nullptr, flags, nullptr, 0, nullptr, 0, value, label.c_str());
}

void Monitor::tick(std::optional<double> epoch) {
  epoch_ = epoch.value_or(epoch_ + 1);
  if (active_) {
    if (before_tick_) before_tick_();
    for (const auto& module : modules_) module->collect_deferred();
    introduce();
    display_.begin_tick(epoch_);
    for (const auto& lens : lenses_) lens->report(epoch_, display_);
    display_.end_tick();
  }
  for (auto it = modules_.begin(); it != modules_.end();) {
    if ((*it)->closed()) {
      for (const auto& lens : lenses_) lens->forget(**it);
      it = modules_.erase(it);
    } else {
      ++it;
    }
  }
  steps_before_ = std::exchange(steps_, 0);
  epoch_start_ = std::chrono::steady_clock::now();
  ++tick_;
  look_or_not();
}

void Monitor::look_or_not() {
  const bool was_active = std::exchange(active_, active_when_(tick_));
  if (active_ && !was_active && on_resume_) on_resume_();
}

void Monitor::note_step() {
  ++steps_;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_progress_ < std::chrono::milliseconds(200) || !display_.wants_progress()) return;
  last_progress_ = now;
  const loupe_progress progress{sizeof(loupe_progress),
                                0,
                                epoch_ + 1,
                                epochs_,
                                steps_,
                                steps_before_,
                                std::chrono::duration<double>(now - epoch_start_).count()};
  display_.progress(progress);
}

std::optional<double> Monitor::query(const std::string& key) {
  for (const auto& lens : lenses_) {
    if (const auto value = lens->query(key)) return value;
  }
  return std::nullopt;
}

}  // namespace loupe
