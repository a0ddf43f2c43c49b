#ifndef LOUPE_PIPELINE_GATHERER_NODE_H
#define LOUPE_PIPELINE_GATHERER_NODE_H

#include <loupe/abi.h>

#include <boost/container/small_vector.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "measure/measurer.h"
#include "pipeline/forward_tensors.h"
#include "pipeline/source.h"
#include "pipeline/step_ring.h"
#include "plugins/catalogue.h"
#include "plugins/component_instance.h"

namespace loupe {

class ModuleNode;
class Stream;

/// Measures a device's tensors without waiting for it. Made by the part of the host that knows LibTorch.
class DeviceMeasurer {
 public:
  using Deliver = std::function<void(const loupe_measurement& measurement, uint32_t flags, uint64_t number)>;
  virtual ~DeviceMeasurer() = default;
  virtual void prime(const loupe_tensor& tensor) = 0;
  /// The next event has none before it.
  virtual void forget() = 0;
  /// Enqueues the work; never waits, never copies to the host.
  virtual void measure(const loupe_tensor& tensor, uint32_t flags, uint64_t number) = 0;
  /// One copy to the host, then every measurement in the order of the events.
  virtual void collect(const Deliver& deliver) = 0;
};
/// @param history  how many elements of a tensor are compared with earlier ones at most; see measure::Sample
using DeviceMeasurerFactory =
    std::function<std::unique_ptr<DeviceMeasurer>(const loupe_request& request, int64_t history)>;
/// The process's: what all inspectors use from now on. Any thread.
void set_device_measurer_factory(DeviceMeasurerFactory factory);

/// One gatherer on one module, and the preprocessors behind it: measures each event once for all that ask the same.
/// Called under its module's mutex.
///
/// Between two events of a stream the model runs, and has every cache to itself. What an event touches therefore lies
/// together, at the beginning, and is fetched at once.
class alignas(64) GathererNode {
 public:
  GathererNode(ModuleNode& module, std::string key, const CatalogueEntry& entry,
               std::shared_ptr<const OptionSet> options, const char* label);
  GathererNode(const GathererNode&) = delete;
  GathererNode& operator=(const GathererNode&) = delete;

  const std::string& key() const { return key_; }
  bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  void open();
  /// Puts a preprocessor behind this gatherer.
  void add(loupe_source& source);
  bool wants_tensors() const { return wants_tensors_; }
  /// Whether a lens behind it that looks reads them now.
  bool reads_tensors() const { return reads_tensors_; }
  /// Starts fetching what an event is about to touch, at an address that need not hold a node any more. Any thread.
  static void prefetch(const GathererNode* node);
  const void* instance() const { return instance_.self(); }
  /// Takes an event through the gatherer to the preprocessors. The event's measurement is filled in on the way, and
  /// its inputs and outputs where somebody reads them.
  /// @param tensors  may be null
  void event(loupe_event& event, ForwardTensors* tensors);
  /// Gives the value that changes are counted from to what begins anew, and to nothing that is on its way.
  void prime(const loupe_tensor& tensor);
  /// Lenses or sources behind it came to rest or skip steps, or look again: what looks again begins anew.
  void follow_lenses();
  /// One of the sources behind it does without `what` from now on, LOUPE_REST_ bits.
  void rest(loupe_source& source, uint32_t what);
  /// From now on the source's usual events are added to `tally`; null: all of them are processed.
  void use_tally(loupe_source& source, loupe_tally* tally);
  /// Held by whoever calls the gatherer or a preprocessor behind it.
  Exclusive& calls() { return calls_; }
  /// Steps went by unseen: what compares begins anew.
  void forget_history();
  /// Whether a lens behind it looks.
  bool awake() const { return awake_; }
  /// The lenses behind it fail: an event could not be had.
  void blame_everybody(const std::string& what, uint32_t tap);
  /// Delivers what a device has measured since the last call.
  void collect_deferred();
  /// How many events somebody took since the last call of ticked().
  uint64_t unticked() const { return unticked_; }
  void ticked();
  /// Bytes held for measuring.
  std::size_t bytes() const;
  /// From now on the last steps are kept. Under the module's mutex.
  void keep_steps();
  /// The last steps of what it measures, each under the stream's name: "conv1 parameter_gradient weight".
  void each_kept(const std::function<void(const std::string& stream, const StepRing& ring)>& take) const;

 private:
  static constexpr uint32_t kNoGroup = UINT32_MAX;
  static constexpr std::size_t few_subscribers = 4;  ///< so many lie within the node

  /// What an event needs to know of a source.
  struct Subscriber {
    loupe_source* source;
    LensGuard* guard;
    decltype(loupe_preprocessor::process) process;
    void* self;
    uint32_t group;          // kNoGroup: nothing is measured for it
    uint32_t passes;         // LOUPE_PASS_ bits
    uint32_t places;         // LOUPE_PLACE_ bits
    uint32_t training_flag;  // the LOUPE_EVENT_ by which it tells a training pass
    bool wants_tensor;
    bool shows;                    // has numbers to be shown at a tick, which are missed without one
    bool compares;                 // asks for the change
    uint32_t rests = 0;            // LOUPE_REST_ bits
    loupe_tally* tally = nullptr;  // adds up what is usual
    UsualTime usual = {};

    bool is_of_devices() const { return (places & LOUPE_PLACE_CPU) == 0; }
    bool takes_now(uint32_t flags, uint32_t place, bool of_a_step) const {
      return (rests & LOUPE_REST_EVENTS) == 0 && takes(flags, place, of_a_step);
    }
    bool reads_tensors() const { return wants_tensor && (rests & LOUPE_REST_TENSORS) == 0; }
    bool is_measured() const { return group != kNoGroup && (rests & LOUPE_REST_MEASURES) == 0; }

    bool takes(uint32_t flags, uint32_t place, bool of_a_step) const {
      return wants(flags, place) && !guard->silent(of_a_step);
    }
    bool wants(uint32_t flags, uint32_t place) const {
      return (passes & ((flags & training_flag) != 0 ? LOUPE_PASS_TRAINING : LOUPE_PASS_EVALUATION)) != 0 &&
             (places & place) != 0;
    }
  };

  struct Group {
    Group(const loupe_request& wanted, int64_t history, const LensGuard& guard)
        : measurer(wanted, history), request(wanted), every(guard.every()) {}
    bool accepts(const loupe_request& wanted, const LensGuard& guard) const;
    void merge(const loupe_request& wanted, const LensGuard& guard);  // into the request
    void begin_anew();
    bool sees_the_same(const loupe_request& wanted, const LensGuard& guard) const;
    measure::Measurer measurer;
    std::unique_ptr<DeviceMeasurer> device;
    uint32_t tap = 0;  ///< of the last event measured on the device
    loupe_request request;
    int every;                       ///< its first lens looks at every n-th tick
    bool mixed = false;              ///< not all behind it see the same events
    bool resting = true;             ///< no lens behind it looks
    bool is_skipped = false;         ///< by one behind it, in the step that is on
    bool is_rested = false;          ///< one behind it rests
    bool fresh = true;               ///< nothing was measured since it began anew
    std::unique_ptr<StepRing> kept;  ///< where somebody may want the last steps
  };

  void subscribe(const loupe_subscription& subscription);
  /// How many of the subscribers, from the first on, may take an event.
  std::size_t may_take(uint32_t place) const { return place == LOUPE_PLACE_CPU ? on_processor_ : subscribers_.size(); }
  void emit(const loupe_event& event);
  void follow_by_streams();
  void hand_on(loupe_event& event, ForwardTensors* tensors);
  void process(const Subscriber& subscriber, const loupe_event& event);
  void measure_on_device(Group& group, const loupe_event& event);
  /// Whether it looks at the step that is on.
  bool looks(const Subscriber& subscriber) const {
    const LensGuard& guard = *subscriber.guard;
    return !guard.resting() && !(of_steps_ && guard.skipping()) && (subscriber.rests & LOUPE_REST_EVENTS) == 0;
  }
  bool is_measured_already(std::size_t subscriber, uint32_t flags) const;
  /// How many take an event's measurement.
  int takers(uint32_t group, uint32_t flags, uint32_t place) const;

  std::shared_ptr<const OptionSet> options_;
  ComponentInstance instance_;
  bool wants_tensors_ = false, reads_tensors_ = false;
  bool failed_ = false;
  bool awake_ = true;
  bool hands_on_ = false;  ///< the gatherer has no say in its events
  bool of_steps_ = true;   ///< nothing is pushed to it, and no tick told
  bool opening_ = false, in_event_ = false;
  TimedEvents timed_;
  uint64_t unticked_ = 0;
  std::exception_ptr stop_;  ///< what `on_error: stop` is about to throw at the trainer
  loupe_taps taps_{};
  boost::container::small_vector<Group, 1> groups_;
  std::size_t on_processor_ = 0;  ///< so many subscribers take what lies in the processor's memory: they come first
  boost::container::small_vector<Subscriber, few_subscribers>
      subscribers_;  // then those of one group beside each other

  ModuleNode& module_;
  boost::container::small_vector<Stream*, 1> streams_;  // that it subscribed to
  std::string key_;
  CatalogueEntry entry_;
  std::string label_;
  bool has_label_;
  Exclusive calls_;  ///< on the gatherer and the preprocessors behind it
};

}  // namespace loupe

#endif
