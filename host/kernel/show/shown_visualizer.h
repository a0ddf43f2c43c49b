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

/// The messages that a later visualizer also gets: the last one of each key, in order.
class Standing {
 public:
  using Tell = std::function<loupe_status(VisualizerNode&, loupe_error*)>;

  void keep(const std::string& key, Tell tell) {
    std::uint64_t& place = place_of_[key];
    tells_.erase(place);
    place = ++last_;
    tells_.emplace(place, std::move(tell));
  }
  /// Returns the next message after `place`, and moves `place` to it; null at the end. The first place is 0.
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

  /// Throws Error if it cannot be created.
  /// @param around  may be null, and outlives this
  ShownVisualizer(const ComponentConfig& config, ComponentContext* around, Run run, Standing standing);

  // Call these on its thread, or on any thread while that is idle.
  /// @param again  if the run continues in another folder: the messages to repeat there; else null
  void set_run(Run run, const Standing* again);
  void keep(const std::string& key, const Standing::Tell& tell);
  /// Tries again after a failure.
  void begin_again();
  bool has_begun() const { return begun_; }
  /// Plays the data that this visualizer stored before epoch `before` to another one, which waits.
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
  /// Sets the time at which its current work was posted; 0: it is idle, or may take any time.
  void set_posted(double time) { posted_.store(time, std::memory_order_relaxed); }

  // From any thread.
  const std::string& name() const { return name_; }
  bool wants_progress() const { return wants_progress_; }
  /// Whether it stores runs and can play them.
  bool stores() const { return stores_; }
  /// The message of its last failure since the previous call; empty if there was none.
  std::string take_fault();
  /// Warns once if it is seconds behind.
  void warn_if_late();

 private:
  // The interface for the visualizer, on its thread or on its own further threads.
  const loupe_run* run() const override { return c_run_; }

  void begin();
  void tell_standing();
  template <class Call>
  void guarded_call(Call&& call);
  template <class... Arguments>
  void tell(Arguments&&... arguments);

  const std::string name_;
  std::vector<Run> runs_;  // the last is the present one; it may still read the others
  std::atomic<const loupe_run*> c_run_;
  Standing standing_;
  std::uint64_t told_ = 0;  // the standing messages that it has received
  bool begun_ = false;      // it has received the run
  bool skip_ = false;       // it failed in this tick
  std::size_t failed_ = 0;  // failed ticks in a row; the first was reported
  std::atomic<double> posted_{0};
  std::atomic<bool> is_late_{false};  // reported to the user
  LeafMutex mutex_;
  std::string fault_;                   // under the mutex
  std::optional<VisualizerNode> node_;  // none once it has ended
  bool wants_progress_, stores_;
};

}  // namespace loupe
