#pragma once

#include <loupe/abi.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "check/fixtures.h"
#include "check/lent_memory.h"
#include "check/meter.h"
#include "check/rule.h"
#include "check/stub_host.h"
#include "options/option_set.h"
#include "show/last_values.h"

namespace loupe::check {

/// How a call came out.
struct Answer {
  std::string function;
  loupe_status status = LOUPE_OK;
  std::string message;  ///< empty where it gave none
  bool threw = false;   ///< an exception came out
  bool ok() const { return status == LOUPE_OK; }
};

/// Whether the component has an option of those in a YAML map.
bool declares_any(const loupe_component& component, const std::string& options);
/// Throws Broken for those that it does not take.
std::shared_ptr<const OptionSet> read_options(const loupe_component& component, const std::string& options);

/// Whether numbers are equal, and NaN where the others are.
bool same(const std::vector<double>& a, const std::vector<double>& b);

/// One instance of a component of any kind, and its life: create, begin, feed and tick as often as wanted, finish,
/// destroy. Nothing here throws for what the component does wrong, except the constructor.
class Session {
 public:
  struct Habits {
    bool takes_away = false;              ///< nothing that was lent can be read after its call
    std::size_t message_capacity = 1000;  ///< of the buffers for messages, which end where no one may write
    bool default_options = true;          ///< false: create is given none
  };
  explicit Session(const Subject& subject) : Session(subject, Habits()) {}
  Session(const Subject& subject, Habits habits);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  bool created() const { return self_ != nullptr; }
  void* self() const { return self_; }
  /// Where that fails, nothing that comes afterwards is called, as the host does.
  void begin();
  void feed() { feed(usual_data()); }
  void feed(const Data& data);
  /// What the component takes: a matrix; or one number, where it refuses that.
  Data usual_data() const;
  void tick();
  void finish();
  /// Also done by the destructor.
  void destroy();
  /// begin, and a few feeds and ticks, and finish.
  void live();

  /// Has the component's own part of each event measured, of those that come at a tick none; null ends that.
  void set_meter(Meter* meter) { meter_ = meter; }

  /// Calls any function, as all the others are called: body(memory, error).
  template <class Body>
  Answer call(const char* function, Turn turn, Body&& body) {
    enter(function, turn);
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
  template <class Table>
  const Table& table() const {
    return *static_cast<const Table*>(subject_.component->table);
  }

  /// Of a lens: it watches nothing, takes no steps and has told no number, so that no event of it was examined.
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
  Answer process(const Data& data);
  /// Every number of every series that can be had, in order, of a preprocessor or of those that a lens brings.
  std::vector<double> numbers();

 private:
  friend struct StubWiring;
  /// What a lens watches.
  struct Watched {
    const loupe_preprocessor* own = nullptr;
    void* own_self = nullptr;
    loupe_request request{};
    const loupe_module* module = nullptr;
    std::string label;
    bool comes_at_ticks = false;  ///< behind the gatherer `tick`, whose events are not as frequent as others
    bool forgotten = false;
    std::deque<std::string> asked_for;  // series of another's preprocessor, which may have them
  };
  template <class Event>
  loupe_status metered(Event&& event) {
    return meter_ != nullptr ? meter_->around(event) : event();
  }
  void create();
  /// Whether a series still has the name that it had, at the same place.
  bool keeps_name(void* preprocessor, std::size_t series, const char* name);
  void add_numbers(const loupe_preprocessor& counts, void* self, std::vector<double>& numbers);
  void enter(const char* function, Turn turn);
  void leave(Answer& answer);
  void begin_gatherer();
  void begin_preprocessor();
  void begin_lens();
  void begin_visualizer();
  void feed_lens(const Data& data);
  void process_own(Watched& watched, const Data& data);
  void tick_preprocessor();
  void tick_lens();
  void tick_visualizer();

  const Subject& subject_;
  Habits habits_;
  StubHost host_;
  LentMemory lasting_;                  // until the component is destroyed
  std::unique_ptr<LentMemory> models_;  // until the modules are forgotten
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
  std::map<std::pair<void*, std::size_t>, std::pair<const char*, std::string>> names_;  // of series
  std::vector<Answer> failures_;
  std::string folder_, label_;
  const loupe_module* opened_on_ = nullptr;
  bool open_ = false;
  bool failed_to_begin_ = false;
  Meter* meter_ = nullptr;
  std::set<std::string> tags_;               // that it told
  LastValues values_, ranges_, histograms_;  // what it told at this tick
  bool has_shown_ = false;                   // a value, range, histogram or finding
  void* self_ = nullptr;
  uint64_t events_ = 0, ticks_ = 0;
};

}  // namespace loupe::check
