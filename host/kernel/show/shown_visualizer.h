#pragma once

#include <loupe/abi.h>
#include <loupe/detail/owned.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "core/locks.h"
#include "loader/visualizer_node.h"
#include "show/held_tick.h"
#include "show/past.h"

namespace loupe {

/// What a visualizer that joins later is told too: the last message of each key, in order.
class Standing {
 public:
  using Tell = std::function<loupe_status(VisualizerNode&, loupe_error*)>;

  void keep(const std::string& key, Tell tell) {
    std::uint64_t& place = place_of_[key];
    tells_.erase(place);
    place = ++last_;
    tells_.emplace(place, std::move(tell));
  }
  /// The next one after `place`, which becomes its place; null at the end. The first place is 0.
  const Tell* after(std::uint64_t& place) const {
    const auto next = tells_.upper_bound(place);
    if (next == tells_.end()) return nullptr;
    place = next->first;
    return &next->second;
  }

 private:
  std::map<std::uint64_t, Tell> tells_;
  std::map<std::string, std::uint64_t> place_of_;
  std::uint64_t last_ = 0;
};

/// One visualizer of an inspector, as its own thread calls it; see Display. A failure is reported once, and the
/// visualizer is tried again at the next tick.
class ShownVisualizer final : public ComponentContext {
 public:
  using Run = std::shared_ptr<const detail::Owned<loupe_run>>;

  /// Throws Error when it cannot be made.
  /// @param around  may be null, and outlives this
  ShownVisualizer(const ComponentConfig& config, ComponentContext* around, Run run, Standing standing);
  ShownVisualizer(const ShownVisualizer&) = delete;
  ShownVisualizer& operator=(const ShownVisualizer&) = delete;

  // Its thread's, or any while that has nothing to do.
  /// @param again  where the run goes on in another folder, in which it begins again: what stands; else null
  void set_run(Run run, const Standing* again);
  void keep(const std::string& key, const Standing::Tell& tell);
  /// Tries again where it failed before.
  void begin_again();
  bool has_begun() const { return begun_; }
  /// Another one, which waits, is told what this one stored before epoch `before`.
  void tell_past(Past& past, ShownVisualizer& to, double before);
  void show(const HeldTick& tick);
  void finding(const std::string& key, const Standing::Tell& tell);
  void note(const loupe_note& note);
  void progress(const loupe_progress& progress);
  void flush();
  /// The last call.
  void end(const loupe_ending& ending);
  /// The last tick before epoch `before` that is stored of the run; nullopt without one.
  std::optional<loupe_moment> last_before(double before);
  /// What it does now was posted at this time; 0: nothing, or it may take as long as it likes.
  void set_posted(double time) { posted_.store(time, std::memory_order_relaxed); }

  // From any thread.
  const std::string& name() const { return name_; }
  bool wants_progress() const { return wants_progress_; }
  /// Whether it stores runs: then it may be asked for what it stored.
  bool stores() const { return stores_; }
  /// The message of its last failure since the previous call; empty if there was none.
  std::string take_fault();
  /// Warns once where it is seconds behind.
  void warn_if_late();

 private:
  // What it asks of its surroundings, on its thread or on threads of its own.
  const loupe_run* run() const override { return c_run_; }
  bool lend(const loupe_module& module, const std::string& name, bool gradient, const Take& take) override;
  std::optional<uint32_t> parameter_flags(const loupe_module& module, std::size_t index) override;
  LoadedComponents* loaded() override { return around_ != nullptr ? around_->loaded() : nullptr; }

  void begin();
  void tell_standing();
  template <class Call>
  void guarded_call(Call&& call);
  template <class... Arguments>
  void tell(Arguments&&... arguments);

  const std::string name_;
  ComponentContext* around_;
  std::vector<Run> runs_;  // the last is the present one; it may still read the others
  std::atomic<const loupe_run*> c_run_;
  Standing standing_;
  std::uint64_t told_ = 0;  // up to where it knows what stands
  bool begun_ = false;      // it has got the run
  bool skip_ = false;       // failed in this tick
  std::size_t failed_ = 0;  // ticks in a row; the user knows of the first
  std::atomic<double> posted_{0};
  std::atomic<bool> is_late_{false};  // the user knows
  LeafMutex mutex_;
  std::string fault_;                   // under the mutex
  std::optional<VisualizerNode> node_;  // none once it has ended
  bool wants_progress_, stores_;
};

}  // namespace loupe
