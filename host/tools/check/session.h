#pragma once

#include <loupe/abi.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "check/allocations.h"
#include "check/fixtures.h"
#include "check/lent_memory.h"
#include "check/rule.h"
#include "options/option_set.h"
#include "show/last_values.h"

namespace loupe::check {

/// The current call of the component; it decides which host functions are allowed.
enum class Phase { none, opening, event, attaching, visiting, reporting, stepping };

/// The host that a component under examination sees. It has no model of LibTorch's, and notes every breach.
class StubHost {
 public:
  StubHost();
  StubHost(const StubHost&) = delete;
  StubHost& operator=(const StubHost&) = delete;

  const loupe_host& get() const { return host_; }
  void set_run(const loupe_run* run) { run_ = run; }
  /// Sets the call that the component is in, on this thread; none between calls.
  void set_phase(Phase phase) {
    phase_ = phase;
    thread_ = std::this_thread::get_id();
  }
  /// Returns whether the host may be called now; if not, notes the breach.
  bool expect(const char* function, std::initializer_list<Phase> phases);
  void complain(const std::string& what);
  std::vector<std::string> complaints() const;
  /// Notes the use of a draft, of an id that holds "/draft-", or of such measures, for the whole process.
  static void note_draft(const std::string& what);
  static void note_draft_id(const std::string& id);
  static void note_draft_measures(uint32_t measures);
  static std::vector<std::string> take_drafts();
  /// How many handles were retained or cloned and not released.
  long retained() const { return retained_; }
  /// Whether the component had tensors kept, copied or decomposed, which allocates each time.
  bool has_copied() const { return has_copied_; }

 private:
  static const void* service(void* host, const char* id);

  loupe_host host_;
  const loupe_run* run_ = nullptr;
  Phase phase_ = Phase::none;
  std::thread::id thread_;
  mutable std::mutex mutex_;
  std::vector<std::string> complaints_;
  std::atomic<long> retained_{0};
  std::atomic<bool> has_copied_{false};
  friend struct StubTensors;
};

/// The result of a call.
struct Answer {
  std::string function;
  loupe_status status = LOUPE_OK;
  std::string message = {};  ///< empty if it gave none
  bool threw = false;        ///< an exception left the component, or was caught by an unknown handler: a panic
  bool ok() const { return status == LOUPE_OK; }
};

/// LOUPE_OFFERS for a pointer to member.
template <class Table, class Function>
bool offers(const Table& table, Function Table::*member) {
  const auto* end = reinterpret_cast<const char*>(&(table.*member) + 1);
  return end - reinterpret_cast<const char*>(&table) <= static_cast<std::ptrdiff_t>(table.struct_size) &&
         table.*member != nullptr;
}

/// A function that calls `lend` with a call's memory and these arguments.
template <class Lend, class... Arguments>
auto lent(Lend lend, Arguments... arguments) {
  return [=](LentMemory& memory) { return lend(memory, arguments...); };
}

/// Whether the component declares one of the options in a YAML map.
bool declares_any(const loupe_component& component, const std::string& options);
/// Throws Broken for options that it refuses.
std::shared_ptr<const OptionSet> read_options(const loupe_component& component, const std::string& options);

/// Whether numbers are equal; NaN equals NaN.
bool same(const std::vector<double>& a, const std::vector<double>& b);

/// One instance of a component of any kind, and its life: create, begin, any number of feeds and ticks, finish,
/// destroy. Only the constructor throws for errors of the component.
class Session {
 public:
  struct Conditions {
    bool takes_away = false;              ///< lent memory cannot be read after its call
    std::size_t message_capacity = 1000;  ///< size of the buffers for messages, which end at a guard page
    bool default_options = true;          ///< false: create gets no options
  };
  explicit Session(const Subject& subject) : Session(subject, Conditions()) {}
  Session(const Subject& subject, Conditions conditions);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  bool created() const { return self_ != nullptr; }
  void* self() const { return self_; }
  /// If this fails, later calls do nothing, as in the host.
  void begin();
  void feed() { feed(usual_data()); }
  void feed(const Data& data);
  /// A matrix; one number if the component refuses matrices.
  Data usual_data() const;
  void tick();
  void finish();
  /// The destructor does the same.
  void destroy();
  /// Calls begin, a few feeds and ticks, and finish.
  void live();

  /// Measures the component's own part of each event, except those of ticks; null stops that.
  void set_meter(Meter* meter) { meter_ = meter; }

  /// Calls body(memory, error) as a call of the component.
  template <class Body>
  Answer call(const char* function, Phase phase, Body&& body) {
    enter(function, phase);
    Answer answer{function, LOUPE_OK, "", false};
    try {
      answer.status = body(*memory_, &error_);
    } catch (const std::exception& e) {
      answer = {function, LOUPE_FAILED, e.what(), true};
    } catch (...) {
      answer = {function, LOUPE_FAILED, "no std::exception", true};
    }
    leave(answer);
    return answer;
  }
  /// Calls a function of the component's table with its instance and the arguments; does nothing if the table lacks it,
  /// or if there is no instance.
  /// @param arguments  those made by lent() are lent for this call
  template <class Table, class Function, class... Arguments>
  Answer ask(const char* function, Phase phase, Function Table::*member, const Arguments&... arguments) {
    if (self_ == nullptr || !offers(table<Table>(), member)) return {function};
    return call(function, phase, [&](LentMemory& memory, loupe_error* error) {
      [[maybe_unused]] const auto given = [&](const auto& argument) {
        if constexpr (std::is_invocable_v<decltype(argument), LentMemory&>) {
          return argument(memory);
        } else {
          return argument;
        }
      };
      return (table<Table>().*member)(self_, given(arguments)..., error);
    });
  }
  template <class Table>
  const Table& table() const {
    return *static_cast<const Table*>(subject_.component->table);
  }

  /// Whether it is a lens that watches nothing, takes no steps and showed no number, so that no event was examined.
  bool is_blind() const;
  const std::vector<Answer>& failures() const { return failures_; }
  const StubHost& host() const { return host_; }
  StubHost& host() { return host_; }
  const std::vector<const loupe_module*>& modules() const { return network_.modules; }
  const loupe_host* lent_host() const { return lent_host_; }
  const loupe_options* lend_default_options(LentMemory& memory) const { return lend_options(memory, *options_->get()); }
  const loupe_taps* taps() const { return taps_; }
  const loupe_wiring* wiring() const { return wiring_; }
  const loupe_sink* sink() const { return sink_; }
  const loupe_request& request() const { return request_; }
  /// Every number of every series, in order, of a preprocessor or of a lens's preprocessors.
  std::vector<double> numbers();

 private:
  friend struct StubWiring;
  class MadeUp;
  /// A source that a lens watches.
  struct Watched {
    const loupe_preprocessor* table = nullptr;
    void* self = nullptr;
    std::shared_ptr<MadeUp> made_up;  ///< null for the lens's own preprocessor
    loupe_request request{};
    const loupe_module* module = nullptr;
    std::string label;
    bool comes_at_ticks = false;  ///< the gatherer is `tick`, whose events are rare
    bool forgotten = false;

    bool is_alive_and_own() const { return made_up == nullptr && !forgotten; }
  };
  void create();
  void lend_host_tables();
  /// Whether a series has kept its name, at the same address.
  bool keeps_name(void* preprocessor, std::size_t series, const char* name);
  void add_numbers(const loupe_preprocessor& counts, void* self, std::vector<double>& numbers);
  void enter(const char* function, Phase phase);
  void leave(Answer& answer);
  void begin_gatherer();
  /// Lends an event to `take`, and measures that if `is_metered`.
  template <class Take>
  Answer send(const char* function, const Data& data, const loupe_module* module, const std::string& label,
              uint32_t measures, bool is_metered, Take&& take);
  void process_own(Watched& watched, const Data& data);
  void tick_lens();
  void tick_visualizer();

  const Subject& subject_;
  Conditions conditions_;
  StubHost host_;
  LentMemory lasting_;                  // memory until the component is destroyed
  std::unique_ptr<LentMemory> models_;  // memory until the modules are forgotten
  std::deque<std::unique_ptr<LentMemory>> taken_;
  std::unique_ptr<LentMemory> memory_;
  std::shared_ptr<const OptionSet> options_;
  loupe_error error_{};
  const loupe_host* lent_host_ = nullptr;
  const loupe_taps* taps_ = nullptr;
  const loupe_wiring* wiring_ = nullptr;
  const loupe_sink* sink_ = nullptr;
  Network network_;
  loupe_request request_{};
  std::deque<Watched> watched_;
  std::map<std::pair<void*, std::size_t>, std::pair<const char*, std::string>> names_;  // names of series
  std::vector<Answer> failures_;
  std::string folder_, label_;
  const loupe_module* opened_on_ = nullptr;
  bool open_ = false;
  bool failed_to_begin_ = false;
  Meter* meter_ = nullptr;
  std::set<std::string> tags_;               // the shown tags
  LastValues values_, ranges_, histograms_;  // its numbers at this tick
  bool has_shown_ = false;                   // a value, range, histogram or finding
  void* self_ = nullptr;
  uint64_t events_ = 0, ticks_ = 0;
};

}  // namespace loupe::check
