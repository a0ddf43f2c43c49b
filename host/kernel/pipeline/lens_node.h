#pragma once

#include <loupe/abi.h>
#include <loupe/draft/abi/incidents.h>
#include <loupe/draft/abi/rows.h>
#include <loupe/internal/tally.h>

#include <functional>
#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "config/config.h"
#include "core/shared.h"
#include "loader/catalogue.h"
#include "options/option_set.h"
#include "pipeline/module_node.h"
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

/// The interface of a monitor for its lenses.
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
  LOUPE_SHARED LensNode(const ComponentConfig& config, const Catalogue& catalogue, bool stop_on_error,
                        LensContext& surroundings);
  LOUPE_SHARED ~LensNode();

  const std::string& name() const { return guard_.lens(); }
  bool quarantined() const { return guard_.quarantined(); }
  /// Begins the epoch that ends with this tick. The lens rests if the epoch is inactive or not its turn. Returns
  /// whether that changed; its sources follow by ModuleNode::follow_lenses.
  bool begin_epoch(bool active, int64_t tick) { return guard_.rest(!active || tick % guard_.every() != 0); }
  bool resting() const { return guard_.resting(); }
  /// Call at the end of a tick, `wall` seconds after the previous one: warns of a slow lens.
  void judge_cost(double wall);
  /// The estimated time it took since the last tick. Any thread.
  double seconds() const { return guard_.cost().seconds(); }
  LOUPE_SHARED void attach();
  LOUPE_SHARED void visit(const ModuleNode& module);
  void forget(const ModuleNode& module);
  /// Reports the tick and resets the sources.
  /// @param told  called in between; may be empty
  LOUPE_SHARED void report(const loupe_tick& tick, Display& display, const std::function<void()>& told = {});
  bool wants_steps() const;
  void step(const loupe_step& step);
  std::optional<double> query(const std::string& key);
  /// Whether it judges the reports of all lenses.
  bool hears_numbers() const { return rows_ != nullptr; }
  /// Sends such a lens a number of any lens.
  void hear(const char* tag, const char* layer, const char* line, double value);
  /// Lets such a lens judge the tick, once all have reported.
  void end_numbers(const loupe_tick& tick);
  /// How it receives the measurements made for other lenses; nullopt if it does not.
  std::optional<Hearer> hearer() const;
  /// Whether it keeps the last steps before a fault.
  bool keeps_incidents() const { return incidents_ != nullptr; }
  /// Whether such a lens wants to write an incident for a finding.
  bool writes_at(const loupe_finding& finding);
  /// Lets such a lens write an incident, and returns its folder; empty if the limit is reached. Throws Error.
  std::string write(const loupe_draft_incident& incident);

 private:
  friend class LensStatesOf;  // saves and merges the states of the sources in a run of several processes
  /// The current call of the lens, which decides the functions that it may call.
  enum class State { idle, attaching, visiting, reporting, stepping };

  template <class Call>
  void guarded_call(State state, const std::string& where, Call&& call);
  // The functions that the lens calls through its tables.
  void watch(const loupe_watch* asked, loupe_source** source_place);
  void read(loupe_source* source, std::size_t index, loupe_series* row);
  void rest(loupe_source* asked, uint32_t what);
  void make_tally(loupe_tally** tally);
  void use_tally(loupe_source* asked, loupe_tally* tally);
  void take_tally(loupe_tally* tally, loupe_tally_sums* sums);
  void show_tag(const loupe_tag* tag);
  template <class Message, void (Display::*display)(const Message&)>
  void show(const Message* message);
  void tell_finding(const loupe_finding* finding);

  void check_is_own(const loupe_tally* tally) const;
  const void* extension(const char* id) const;
  void reset(loupe_source& source);
  LOUPE_SHARED void reset_all();
  uint64_t key_of(const loupe_source& source, const ModuleNode& module);
  void make_wiring();
  static const loupe_internal_tally& tally_table();
  void make_sink();
  [[noreturn]] void refuse_untold(const char* tag) const;
  /// Reports once that the lens watches nothing, if mistakes are errors.
  void tell_blindness();
  std::string tag_id(const char* tag) const { return suffix_.empty() ? tag : tag + suffix_; }
  void expect(std::initializer_list<State> states, const char* function) const;

  LensGuard guard_;
  std::string suffix_;  // suffix of its tags, if it has its own name
  const Catalogue& catalogue_;
  LensContext& surroundings_;
  bool is_written_;
  State state_ = State::idle;
  Display* display_ = nullptr;               // while it reports
  std::set<std::string, std::less<>> tags_;  // the declared ones
  std::set<std::string> types_;              // types of the visited modules, kept if mistakes are errors
  bool has_shown_ = false;                   // it reported a value, range, histogram or finding
  OptionCache option_cache_;
  loupe_wiring wiring_{};
  loupe_sink sink_{};
  mutable LeafMutex tallies_mutex_;  // events use tallies on their own threads
  std::list<loupe_tally> tallies_;
  std::unordered_map<uint64_t, std::list<loupe_source>> sources_;  // by module id
  std::unordered_map<uint64_t, loupe_source*> by_key_;
  ComponentInstance instance_;  // must come after the sources, which may use preprocessors of the lens
  const loupe_draft_rows* rows_;
  const loupe_draft_incidents* incidents_;
};

}  // namespace loupe
