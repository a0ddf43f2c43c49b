#pragma once

#include <loupe/abi.h>
#include <loupe/draft/abi/flags.h>
#include <loupe/draft/abi/measured.h>

#include <boost/container/small_vector.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/shared.h"
#include "loader/catalogue.h"
#include "loader/component_instance.h"
#include "measure/measurer.h"
#include "pipeline/source.h"

namespace loupe {

/// Measures a device's tensors without waiting for it. Implemented in the part of the host that knows LibTorch.
class DeviceMeasurer {
 public:
  /// Receives the measurement of an event passed to measure().
  using Deliver = std::function<void(const loupe_measurement& measurement, uint32_t flags, uint64_t number)>;
  virtual ~DeviceMeasurer() = default;
  virtual void prime(const loupe_tensor& tensor) = 0;
  /// Forgets earlier events, so that the next one has none to be compared with.
  virtual void forget() = 0;
  /// Enqueues the work; never waits, never copies to the host.
  virtual void measure(const loupe_tensor& tensor, uint32_t flags, uint64_t number) = 0;
  /// Copies once to the host, then delivers all measurements in the order of the events.
  virtual void collect(const Deliver& deliver) = 0;
};
/// @param history  the most elements of a tensor that are compared with earlier ones; see measure::Sample
using DeviceMeasurerFactory = std::unique_ptr<DeviceMeasurer> (*)(const loupe_request& request, int64_t history);
/// Sets the factory of all inspectors of the process from now on. Any thread.
void set_device_measurer_factory(DeviceMeasurerFactory factory);

/// A lens that receives the measurements made for other lenses.
struct Hearer {
  const loupe_draft_measured* table;
  void* self;
  const LensGuard* guard;
};

/// Measures once per event for all preprocessors behind a gatherer that ask for the same. Under the module's mutex.
class MeasureGroup {
 public:
  MeasureGroup(const loupe_request& wanted, int64_t history, const LensGuard& guard)
      : measurer_(wanted, history), request_(wanted), history_(history), every_(guard.every()) {}

  /// Whether `wanted` can be measured together with the rest.
  bool accepts(const loupe_request& wanted, const LensGuard& guard) const;
  void merge(const loupe_request& wanted, const LensGuard& guard);

  /// Sets the measures of the next events, LOUPE_MEASURE_ bits; with none it rests. New comparisons have no history.
  /// @param some_rest  a source behind it rests, and does not get measurements of a device meanwhile
  void restrict_to(uint32_t measures, bool some_rest);
  /// Forgets the history, since steps were not seen.
  void begin_anew();
  /// Sets the value from which changes are counted, if the history is empty.
  void prime(const loupe_tensor& tensor);

  /// Measures an event whose tensor is in CPU memory.
  loupe_measurement measure(const loupe_event& event) {
    fresh_ = false;
    return measurer_.measure(*event.tensor);
  }
  void measure_on_device(const loupe_event& event);
  /// Delivers the measurements of a device since the last call.
  using Deliver = std::function<void(const loupe_event& event, bool some_rested)>;
  /// @param event  the members that all of the events have in common
  void collect(loupe_event event, const Deliver& deliver);

  /// From now on `hearer` receives the events of this stream.
  void add_hearer(const Hearer& hearer, const loupe_module* module, const std::string& name);
  /// Sends all hearers an event, and its measurement once there is one.
  void tell(const loupe_event& event) const {
    for (const Heard& each : heard_) {
      const RunningComponent running(each.hearer.guard->speaker());
      if (!each.hearer.guard->quarantined()) each.hearer.table->event(each.handle, &event);
    }
  }

 private:
  /// The data that an event keeps until its measurement comes.
  struct Deferred {
    uint64_t step;
    uint32_t tap, index;
  };

  struct Heard {
    Hearer hearer;
    void* handle;
  };

  bool sees_the_same(const loupe_request& wanted, const LensGuard& guard) const;
  DeviceMeasurer* device();

  measure::Measurer measurer_;
  std::unique_ptr<DeviceMeasurer> device_;
  loupe_request request_;
  int64_t history_;
  int every_;                       // its first lens measures every n-th tick
  std::vector<Deferred> deferred_;  // the data of events being measured on the device, in order
  bool mixed_ = false;              // not all sources behind it see the same events
  bool resting_ = true;             // no source behind it wants the next events
  bool some_rest_ = false;          // a source behind it rests
  bool fresh_ = true;               // the history is empty
  boost::container::small_vector<Heard, 1> heard_;
};

class ModuleNode;
class Stream;

/// The inputs and outputs of a forward; created on demand, since most events need none.
class ForwardTensors {
 public:
  /// Fills in the event's inputs and outputs, which are valid as long as this is. On the event's thread.
  virtual void lend(loupe_event& event) = 0;

 protected:
  ~ForwardTensors() = default;
};

/// Hashes the tensors that an event lends; 0 if other threads may write to them meanwhile. Any thread.
using EventPrint = uint64_t (*)(const loupe_event& event);
/// Sets the hash of the process, which detects that a component writes to lent tensors if mistakes are errors.
void set_event_print(EventPrint print);

/// One gatherer on one module, and the preprocessors behind it: measures each event once for all that ask for the same.
/// Called under its module's mutex.
class GathererNode {
 public:
  GathererNode(ModuleNode& module, std::string key, const CatalogueEntry& entry,
               std::shared_ptr<const OptionSet> options, const char* label);

  const std::string& key() const { return key_; }
  bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  void open();
  /// Adds a preprocessor behind this gatherer.
  void add(loupe_source& source);
  bool wants_tensors() const { return wants_tensors_; }
  /// Whether an active source behind it reads inputs and outputs.
  bool reads_tensors() const { return reads_tensors_; }
  /// Passes an event through the gatherer to the preprocessors. Fills in its measurement, and its inputs and outputs if
  /// they are read.
  /// @param tensors  may be null
  void event(loupe_event& event, ForwardTensors* tensors);
  /// Prefetches the memory that `event` will use into the caches. Any thread.
  void fetch() const;
  /// Sets the value from which changes are counted, if the history is empty.
  void prime(const loupe_tensor& tensor);
  /// Call when lenses or sources behind it begin or cease to rest; sources that cease start a new history.
  void follow_lenses();
  /// Disables `what` (LOUPE_REST_ bits) for a source behind it; 0 enables all.
  void rest(loupe_source& source, uint32_t what);
  /// Adds the source's usual events to `tally` from now on; null: processes all of them.
  void use_tally(loupe_source& source, loupe_tally* tally);
  /// Guards calls of the gatherer and of the preprocessors behind it.
  Exclusive& calls() { return calls_; }
  /// Forgets the history, since steps were not seen.
  void forget_history();
  /// Whether no source behind it accepts events.
  bool resting() const { return resting_; }
  /// Reports an event that could not be created to all lenses behind it, which fail.
  void blame_everybody(const std::string& what, uint32_t tap);
  /// Delivers the measurements of devices since the last call.
  void collect_deferred();
  /// The streams that it subscribed to.
  const auto& streams() const { return streams_; }
  /// The number of accepted events since the last call of ticked().
  uint64_t unticked() const { return unticked_; }
  /// Whether an event came since the last call of ticked(), including events that show nothing themselves.
  bool has_events() const { return has_events_; }
  void ticked();
  /// From now on `hearer` receives the measurements made here. Under the module's mutex.
  void add_hearer(const Hearer& hearer);

 private:
  static constexpr uint32_t kNoGroup = UINT32_MAX;
  static constexpr std::size_t few_subscribers = 4;  ///< the number stored within the node

  /// The part of a source that events need.
  struct Subscriber {
    loupe_source* source;
    LensGuard* guard;
    decltype(loupe_preprocessor::process) process;
    void* self;
    uint32_t group;          // kNoGroup: nothing is measured for it
    uint32_t passes;         // LOUPE_PASS_ bits
    uint32_t places;         // LOUPE_PLACE_ bits
    uint32_t training_flag;  // the LOUPE_EVENT_ bit of a training pass
    uint32_t refuses;        // LOUPE_EVENT_ bits of events that it does not get
    bool wants_tensor;
    bool shows;                    // it has numbers for a tick, which are lost without one
    bool compares;                 // it requests the change
    uint32_t rests = 0;            // LOUPE_REST_ bits
    loupe_tally* tally = nullptr;  // adds up usual events
    UsualTime usual = {};

    bool is_of_devices() const { return (places & LOUPE_PLACE_CPU) == 0; }
    bool accepts_now(uint32_t flags, uint32_t place) const {
      return (rests & LOUPE_REST_EVENTS) == 0 && accepts(flags, place);
    }
    bool reads_tensors() const { return wants_tensor && (rests & LOUPE_DRAFT_REST_TENSORS) == 0; }
    bool is_measured() const { return group != kNoGroup && (rests & LOUPE_DRAFT_REST_MEASURES) == 0; }

    bool accepts(uint32_t flags, uint32_t place) const { return wants(flags, place) && guard->accepts_events(); }
    bool wants(uint32_t flags, uint32_t place) const {
      return (passes & ((flags & training_flag) != 0 ? LOUPE_PASS_TRAINING : LOUPE_PASS_EVALUATION)) != 0 &&
             (places & place) != 0 && (flags & refuses) == 0;
    }
  };

  void subscribe(const loupe_subscription* asked);
  void add_hearer(MeasureGroup& group, const Hearer& hearer) const;
  /// The number of leading subscribers that may accept an event from this place.
  std::size_t count_at(uint32_t place) const { return place == LOUPE_PLACE_CPU ? on_processor_ : subscribers_.size(); }
  void emit(const loupe_event* event);
  void follow_by_streams();
  void hand_on(loupe_event& event, ForwardTensors* tensors);
  void process(const Subscriber& subscriber, const loupe_event& event);
  static bool rests(const Subscriber& subscriber) {
    return subscriber.guard->resting() || (subscriber.rests & LOUPE_REST_EVENTS) != 0;
  }
  /// Reports once the lenses that do not get the sparse tensors of this stream.
  void tell_of_sparse();
  bool is_measured_already(std::size_t subscriber, uint32_t flags) const;
  /// The number of a group's subscribers that accept an event.
  int accepting(uint32_t group, uint32_t flags, uint32_t place) const;

  std::shared_ptr<const OptionSet> options_;
  ComponentInstance instance_;
  bool wants_tensors_ = false, reads_tensors_ = false;
  bool failed_ = false;
  bool resting_ = false;
  bool hands_on_ = false;  ///< the gatherer passes events on unchanged
  bool opening_ = false, in_event_ = false;
  bool told_of_sparse_ = false;
  bool has_blamed_writer_ = false;  ///< in this event, a component wrote to a lent tensor
  TimedEvents timed_;
  uint64_t unticked_ = 0;
  bool has_events_ = false;  ///< an event came since the last tick
  std::exception_ptr stop_;  ///< the exception that `on_error: stop` is about to throw
  loupe_taps taps_{};
  boost::container::small_vector<MeasureGroup, 1> groups_;
  std::size_t on_processor_ = 0;  ///< the number of subscribers for CPU memory, which come first
  boost::container::small_vector<Subscriber, few_subscribers>
      subscribers_;  // subscribers of one group follow each other

  ModuleNode& module_;
  boost::container::small_vector<Stream*, 1> streams_;  // the streams it subscribed to
  std::string key_;
  CatalogueEntry entry_;
  std::string label_;
  bool has_label_;
  Exclusive calls_;  ///< calls of the gatherer and the preprocessors behind it
};

}  // namespace loupe

template <class Call>
auto loupe_source::read(const char* function, Call&& call) {
  const std::lock_guard lock(*mutex);
  const loupe::Exclusive::Call alone(gatherer->calls(), function, guard->speaker());
  return call();
}
