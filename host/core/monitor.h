#ifndef LOUPE_CORE_MONITOR_H
#define LOUPE_CORE_MONITOR_H

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/display.h"
#include "core/lens_node.h"
#include "core/module_node.h"

namespace loupe {

/// An inspector without LibTorch: the lenses and visualizers of one configuration, the modules they watch, and the
/// clock of epochs. Trainer's thread, but for what Stream::dispatch says.
class Monitor {
 public:
  /// Throws ConfigError when a component cannot be made.
  explicit Monitor(Config config);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  const Config& config() const { return config_; }
  Display& display() { return display_; }

  /// Adds a module and shows it to every lens. The node lives until it is removed and the next tick is over.
  std::shared_ptr<ModuleNode> add_module(ModuleDescription description);
  /// No event of the module gets through any more. What it gathered still shows at the next tick.
  void remove_module(const std::shared_ptr<ModuleNode>& module);
  /// Tells the lenses' tags to the visualizers.
  void introduce();

  bool active() const { return active_; }
  void set_active(std::function<bool(int64_t)> when);
  /// Nothing happens while inactive. NaN and Inf are counted by the lens, never averaged.
  void push(const std::string& label, double value, uint32_t flags);
  /// Before a tick: what the taps still owe (parameters, deferred pushes).
  void set_before_tick(std::function<void()> call) { before_tick_ = std::move(call); }
  /// When looking begins again after inactive epochs.
  void set_on_resume(std::function<void()> call) { on_resume_ = std::move(call); }
  void tick(std::optional<double> epoch);
  double epoch() const { return epoch_; }
  /// After each optimizer step; tells the visualizers a few times a second.
  void note_step();
  void set_epochs(double epochs) { epochs_ = epochs; }

  std::optional<double> query(const std::string& key);
  const std::vector<std::unique_ptr<LensNode>>& lenses() const { return lenses_; }
  const std::vector<std::shared_ptr<ModuleNode>>& modules() const { return modules_; }

 private:
  ModuleNode& node_of(const loupe_module* module);
  void look_or_not();

  Config config_;
  Display display_;
  std::shared_ptr<ModuleNode> pushes_;
  std::vector<std::shared_ptr<ModuleNode>> modules_;
  std::vector<std::unique_ptr<LensNode>> lenses_;
  uint64_t next_id_ = 1;
  int64_t tick_ = 1;
  double epoch_ = 0, epochs_ = 0;
  bool active_ = true;
  std::function<bool(int64_t)> active_when_;
  std::function<void()> before_tick_, on_resume_;
  uint64_t steps_ = 0, steps_before_ = 0;
  std::chrono::steady_clock::time_point epoch_start_, last_progress_;
};

}  // namespace loupe

#endif
