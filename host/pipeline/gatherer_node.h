#pragma once

#include <loupe/abi.h>
#include <loupe/draft/abi/flags.h>

#include <boost/container/small_vector.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loader/catalogue.h"
#include "loader/component_instance.h"
#include "pipeline/measure_group.h"
#include "pipeline/source.h"

namespace loupe {

class ModuleNode;
class Stream;

/// The inputs and outputs of a forward. Made only for those that read them, since most events pass without.
class ForwardTensors {
 public:
  /// Fills in the event's inputs and outputs, which are valid as long as this is. On the event's thread.
  virtual void lend(loupe_event& event) = 0;

 protected:
  ~ForwardTensors() = default;
};

/// How often a tensor was changed in place, as LibTorch counts it; 0 where it does not. Any thread.
using TensorVersion = uint64_t (*)(const loupe_tensor& tensor);
/// The process's: by which it is noticed, where mistakes are refused, that a component writes to what it is lent.
void set_tensor_version(TensorVersion version);

/// One gatherer on one module, and the preprocessors behind it: measures each event once for all that ask the same.
/// Called under its module's mutex.
class GathererNode {
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
  /// Whether somebody behind it that does not rest reads them.
  bool reads_tensors() const { return reads_tensors_; }
  /// Hands an event through the gatherer to the preprocessors. Fills in its measurement, and its inputs and outputs
  /// where somebody reads them.
  /// @param tensors  may be null
  void event(loupe_event& event, ForwardTensors* tensors);
  /// Gives the value that changes are counted from to whatever has begun anew.
  void prime(const loupe_tensor& tensor);
  /// Lenses or sources behind it came to rest, or no longer rest: those begin anew.
  void follow_lenses();
  /// From now on a source behind it rests from `what`, LOUPE_REST_ bits.
  void rest(loupe_source& source, uint32_t what);
  /// From now on the source's usual events are added to `tally`; null: all of them are processed.
  void use_tally(loupe_source& source, loupe_tally* tally);
  /// Held by whoever calls the gatherer or a preprocessor behind it.
  Exclusive& calls() { return calls_; }
  /// Steps went by unseen: what compares begins anew.
  void forget_history();
  /// Whether nobody behind it accepts events.
  bool resting() const { return resting_; }
  /// The lenses behind it fail: an event could not be made.
  void blame_everybody(const std::string& what, uint32_t tap);
  /// Delivers what a device has measured since the last call.
  void collect_deferred();
  /// Whether all it sees is the same in every process that trains a replica of the model: parameters, and gradients as
  /// an optimizer uses them.
  bool sees_replicas() const;
  /// How many events somebody accepted since the last call of ticked().
  uint64_t unticked() const { return unticked_; }
  void ticked();
  /// Bytes held for measuring.
  std::size_t bytes() const;
  /// From now on the last steps are kept. Under the module's mutex.
  void keep_last_steps();
  /// The last steps of what it measures, each under the stream's name: "conv1 parameter_gradient weight".
  void each_last_steps(const std::function<void(const std::string& stream, const LastSteps& steps)>& call) const;

 private:
  static constexpr uint32_t kNoGroup = UINT32_MAX;
  static constexpr std::size_t few_subscribers = 4;  ///< as many as lie within the node

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
    bool shows;                    // has numbers for a tick, which are lost without one
    bool compares;                 // asks for the change
    uint32_t rests = 0;            // LOUPE_REST_ bits
    loupe_tally* tally = nullptr;  // adds up what is usual
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
             (places & place) != 0;
    }
  };

  void subscribe(const loupe_subscription& subscription);
  /// How many of the subscribers, from the first on, may accept an event from there.
  std::size_t count_at(uint32_t place) const { return place == LOUPE_PLACE_CPU ? on_processor_ : subscribers_.size(); }
  void emit(const loupe_event& event);
  void follow_by_streams();
  void hand_on(loupe_event& event, ForwardTensors* tensors);
  void process(const Subscriber& subscriber, const loupe_event& event);
  static bool rests(const Subscriber& subscriber) {
    return subscriber.guard->resting() || (subscriber.rests & LOUPE_REST_EVENTS) != 0;
  }
  bool is_measured_already(std::size_t subscriber, uint32_t flags) const;
  /// How many of a group accept an event.
  int accepting(uint32_t group, uint32_t flags, uint32_t place) const;

  std::shared_ptr<const OptionSet> options_;
  ComponentInstance instance_;
  bool wants_tensors_ = false, reads_tensors_ = false;
  bool failed_ = false;
  bool resting_ = false;
  bool hands_on_ = false;  ///< the gatherer has no say in its events
  bool opening_ = false, in_event_ = false;
  bool has_blamed_writer_ = false;  ///< in this event, somebody who wrote to what it was lent
  TimedEvents timed_;
  uint64_t unticked_ = 0;
  std::exception_ptr stop_;  ///< what `on_error: stop` is about to throw at the trainer
  loupe_taps taps_{};
  boost::container::small_vector<MeasureGroup, 1> groups_;
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

template <class Call>
auto loupe_source::read(const char* function, Call&& call) {
  const std::lock_guard lock(*mutex);
  const loupe::Exclusive::Call alone(gatherer->calls(), function, guard->speaker());
  return call();
}
