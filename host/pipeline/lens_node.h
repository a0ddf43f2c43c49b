#pragma once

#include <loupe/abi.h>
#include <loupe/internal/tally.h>

#include <initializer_list>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "config/config.h"
#include "pipeline/known_options.h"
#include "pipeline/module_node.h"
#include "pipeline/tick_states.h"
#include "show/display.h"

namespace loupe {

/// What a lens needs of the monitor around it.
class LensSurroundings : public Surroundings {
 public:
  /// The node behind a module; the pushes' node for null. Throws Error for one that is not attached.
  virtual ModuleNode& node_of(const loupe_module* module) = 0;
  /// A lens found something. Throws Error for a finding without rule or message.
  virtual void publish(const loupe_finding& finding, const std::string& speaker) = 0;
  /// The lens failed and is not called any more. Any thread.
  virtual void quarantined(const std::string& message) = 0;
};

/// One lens of an inspector with the sources it watches. Its calls come one at a time.
class LensNode {
 public:
  LensNode(const ComponentConfig& config, const Catalogue& catalogue, bool stop_on_error,
           LensSurroundings& surroundings);
  LensNode(const LensNode&) = delete;
  LensNode& operator=(const LensNode&) = delete;

  const std::string& name() const { return guard_.lens(); }
  bool quarantined() const { return guard_.quarantined(); }
  /// Begins the epoch that ends with this tick. The lens rests if the epoch is inactive or is not one that it looks at.
  /// Returns whether that is new. Its sources follow when their modules are told to.
  bool begin_epoch(bool active, int64_t tick) { return guard_.rest(!active || tick % guard_.every() != 0); }
  bool resting() const { return guard_.resting(); }
  /// At the end of a tick, which comes `wall` seconds after the one before: tells the user of a lens that is slow.
  void judge_cost(double wall);
  /// What it took since the last tick, estimated. Any thread.
  double seconds() const { return guard_.cost().seconds(); }
  void attach();
  void visit(const ModuleNode& module);
  void forget(const ModuleNode& module);
  /// Reports the tick and empties the sources.
  /// @param states  becomes what they held; may be null
  void report(const loupe_tick& tick, Display& display, LensStates* states = nullptr);
  /// Goes on as if what the states of another process tell of had come here. Returns false where a state cannot be
  /// read.
  /// @param replicas  also those of streams that are the same in every replica of a model
  bool merge(const LensStates& states, bool replicas);
  /// Why its numbers cannot be merged with another process's; empty where they can.
  std::string cannot_merge() const;
  /// Whether it compares what all processes of the run gathered.
  bool takes_all_ranks() const;
  /// What its sources hold, which are emptied.
  LensStates take_states();
  bool wants_steps() const;
  void step(const loupe_step& step);
  std::optional<double> query(const std::string& key);

 private:
  /// Which call of the lens is on: what it may call back depends on it.
  enum class State { idle, attaching, visiting, reporting, stepping };

  template <class Call>
  void guarded_call(State state, const std::string& where, Call&& call);
  loupe_source& watch(const loupe_watch& watch);
  void rest(loupe_source& source, uint32_t what);
  loupe_tally& make_tally();
  void use_tally(loupe_source& source, loupe_tally* tally);
  loupe_tally_sums take_tally(loupe_tally* tally);
  void check_is_own(const loupe_tally* tally) const;
  void reset(loupe_source& source);
  void reset_all();
  void save(LensStates& states);
  uint64_t key_of(const loupe_source& source, const ModuleNode& module);
  void make_wiring();
  static const loupe_internal_tally& tally_table();
  void make_sink();
  void show_tag(const loupe_tag& tag);
  void tell_finding(const loupe_finding& finding);
  [[noreturn]] void refuse_untold(const char* tag) const;
  /// Tells once that the lens looks at nothing, where its author is to know.
  void tell_blindness();
  template <class Told>
  void show(const Told& told, void (Display::*display)(const Told&));
  std::string tag_id(const char* tag) const { return suffix_.empty() ? tag : tag + suffix_; }
  void expect(std::initializer_list<State> states, const char* function) const;

  LensGuard guard_;
  std::string suffix_;  // of its tags, when it has a name of its own
  const Catalogue& catalogue_;
  LensSurroundings& surroundings_;
  bool is_written_;
  State state_ = State::idle;
  Display* display_ = nullptr;               // while it reports
  std::set<std::string, std::less<>> tags_;  // that were told
  std::set<std::string> types_;              // of the modules that were shown, where its author is to know
  bool has_shown_ = false;                   // a value, range, histogram or finding
  KnownOptions known_options_;
  loupe_wiring wiring_{};
  loupe_sink sink_{};
  mutable LeafMutex tallies_mutex_;  // events use tallies on their own threads
  std::list<loupe_tally> tallies_;
  std::unordered_map<uint64_t, std::list<loupe_source>> sources_;  // by their modules
  std::unordered_map<uint64_t, loupe_source*> by_key_;
  ComponentInstance instance_;  // last: sources may use preprocessors of the lens
};

}  // namespace loupe
