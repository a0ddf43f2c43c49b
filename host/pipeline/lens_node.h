#pragma once

#include <loupe/abi.h>
#include <loupe/internal/passed_step.h>
#include <loupe/internal/tally.h>

#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "config/config.h"
#include "loader/catalogue.h"
#include "options/option_set.h"
#include "pipeline/module_node.h"
#include "pipeline/tick_keeper.h"
#include "show/display.h"

namespace loupe {

/// The options that a lens gives to components, each checked only once: most lenses give the same to every module. One
/// thread.
class OptionCache {
 public:
  /// `owner` names the component in errors. Throws Error as OptionSet::from_values.
  std::shared_ptr<const OptionSet> of(const CatalogueEntry& entry, const loupe_options* values,
                                      const std::string& owner);

 private:
  std::map<std::string, std::shared_ptr<const OptionSet>> sets_;  // by component and values
};

// Throw Error for a message that a lens may not send.
void check_message(const loupe_tag& tag);
void check_message(const loupe_row& row);
void check_message(const loupe_histogram& histogram);

/// What a lens needs from its monitor.
class LensContext : public ComponentContext {
 public:
  /// The node behind a module; the pushes' node for null. Throws Error for one that is not attached.
  virtual ModuleNode& node_of(const loupe_module* module) = 0;
  /// Takes a finding of a lens. Throws Error for one without rule or message.
  virtual void publish(const loupe_finding& finding, const std::string& speaker) = 0;
  /// The lens failed and will not be called again. Any thread.
  virtual void quarantined(const std::string& message) = 0;
};

/// One lens of an inspector with its sources. Calls come one at a time.
class LensNode {
 public:
  LensNode(const ComponentConfig& config, const Catalogue& catalogue, bool stop_on_error, LensContext& surroundings);
  LensNode(const LensNode&) = delete;
  LensNode& operator=(const LensNode&) = delete;

  const std::string& name() const { return guard_.lens(); }
  bool quarantined() const { return guard_.quarantined(); }
  /// Begins the epoch that ends with this tick. The lens rests if the epoch is inactive or not one of its own. Returns
  /// whether that is new; its sources follow by ModuleNode::follow_lenses.
  bool begin_epoch(bool active, int64_t tick) { return guard_.rest(!active || tick % guard_.every() != 0); }
  bool resting() const { return guard_.resting(); }
  /// Call at the end of a tick, `wall` seconds after the previous one: warns of a slow lens.
  void judge_cost(double wall);
  /// The estimated time it took since the last tick. Any thread.
  double seconds() const { return guard_.cost().seconds(); }
  void attach();
  void visit(const ModuleNode& module);
  void forget(const ModuleNode& module);
  /// Reports the tick and resets the sources.
  /// @param states  receives their states; may be null
  void report(const loupe_tick& tick, Display& display, LensStates* states = nullptr);
  /// Merges the states of another process into the sources. Returns false if a state cannot be read.
  /// @param replicas  include streams that are the same in every replica of a model
  bool merge(const LensStates& states, bool replicas);
  /// Why its values cannot be merged with another process's; empty if they can.
  std::string cannot_merge() const;
  /// Whether it compares the values of all processes of the run.
  bool takes_all_ranks() const;
  /// Returns the states of its sources, and resets them.
  LensStates take_states();
  bool wants_steps() const;
  void step(const loupe_step& step);
  /// Tells it of a step that is not looked at, if it wants to hear of those.
  void pass_step(const loupe_step& step);
  std::optional<double> query(const std::string& key);

 private:
  /// The current call of the lens, which decides what it may call back.
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
  /// Reports once that the lens watches nothing, where mistakes are errors.
  void tell_blindness();
  template <class Message>
  void show(const Message& message, void (Display::*display)(const Message&));
  std::string tag_id(const char* tag) const { return suffix_.empty() ? tag : tag + suffix_; }
  void expect(std::initializer_list<State> states, const char* function) const;

  LensGuard guard_;
  std::string suffix_;  // of its tags, if it has its own name
  const Catalogue& catalogue_;
  LensContext& surroundings_;
  bool is_written_;
  State state_ = State::idle;
  Display* display_ = nullptr;               // while it reports
  std::set<std::string, std::less<>> tags_;  // that were declared
  std::set<std::string> types_;              // of the visited modules, where mistakes are errors
  bool has_shown_ = false;                   // a value, range, histogram or finding
  OptionCache option_cache_;
  loupe_wiring wiring_{};
  loupe_sink sink_{};
  mutable LeafMutex tallies_mutex_;  // events use tallies on their own threads
  std::list<loupe_tally> tallies_;
  std::unordered_map<uint64_t, std::list<loupe_source>> sources_;  // by their modules
  std::unordered_map<uint64_t, loupe_source*> by_key_;
  ComponentInstance instance_;  // after the sources, which may use preprocessors of the lens
  std::optional<const loupe_internal_passed_step*> passed_step_;  // null where it does not want them
};

}  // namespace loupe
