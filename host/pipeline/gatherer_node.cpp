#include "pipeline/gatherer_node.h"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>

#include "core/clock.h"
#include "pipeline/module_node.h"
#include "pipeline/prefetch.h"
#include "pipeline/tally.h"

namespace loupe {
namespace {

std::mutex factory_mutex;
DeviceMeasurerFactory& factory() {
  static DeviceMeasurerFactory made;
  return made;
}
DeviceMeasurerFactory device_factory() {
  const std::lock_guard lock(factory_mutex);
  return factory();
}

/// Beside an event's own flags, of what a device has measured: some lens skipped it, or some source rested.
constexpr uint32_t kSkippedBySome = 1U << 31, kRestedBySome = 1U << 30;

uint32_t place_of(const loupe_event& event) {
  const bool on_device = event.tensor != nullptr && event.tensor->device_type != LOUPE_DEVICE_CPU;
  return on_device ? LOUPE_PLACE_DEVICE : LOUPE_PLACE_CPU;
}

}  // namespace

bool GathererNode::Group::sees_the_same(const loupe_request& wanted, const LensGuard& guard) const {
  return request.passes == wanted.passes && request.pass_by_grad == wanted.pass_by_grad && every == guard.every();
}

/// Those that compare an event with the one before must see the same events.
bool GathererNode::Group::accepts(const loupe_request& wanted, const LensGuard& guard) const {
  constexpr uint32_t history = LOUPE_MEASURE_PREVIOUS | LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_CHANGE_PREVIOUS;
  const bool compares = ((request.measures | wanted.measures) & history) != 0;
  return measurer.accepts(wanted) && (!compares || (!mixed && sees_the_same(wanted, guard)));
}

void GathererNode::Group::merge(const loupe_request& wanted, const LensGuard& guard) {
  mixed = mixed || !sees_the_same(wanted, guard);
  if ((request.measures & LOUPE_MEASURE_ACTIVITY) == 0) {
    request.unit_dimension = wanted.unit_dimension;
    request.epsilon = wanted.epsilon;
  }
  request.measures |= wanted.measures;
}

void GathererNode::Group::begin_anew() {
  fresh = true;
  measurer.forget_history();
  if (device) device->forget();
}

void set_device_measurer_factory(DeviceMeasurerFactory made) {
  const std::lock_guard lock(factory_mutex);
  factory() = std::move(made);
}

GathererNode::GathererNode(ModuleNode& module, std::string key, const CatalogueEntry& entry,
                           std::shared_ptr<const OptionSet> options, const char* label)
    : options_(std::move(options)),
      instance_(*entry.component, options_->get(),
                std::string("the gatherer '") + entry.component->name + "' on " + module.shown_name(), nullptr),
      module_(module),
      key_(std::move(key)),
      entry_(entry),
      label_(label != nullptr ? label : ""),
      has_label_(label != nullptr) {
  hands_on_ = !LOUPE_OFFERS(instance_.table<loupe_gatherer>(), event);
  taps_ = {sizeof(loupe_taps), 0, this,
           [](void* self, const loupe_subscription* subscription, loupe_error* error) {
             return detail::guarded(error, [&] {
               if (subscription == nullptr) throw Error("a subscription is null", LOUPE_INVALID);
               static_cast<GathererNode*>(self)->subscribe(copy_known(*subscription));
             });
           },
           [](void* self, const loupe_event* event, loupe_error* error) {
             return detail::guarded(error, [&] {
               if (event == nullptr) throw Error("an event is emitted that is null", LOUPE_INVALID);
               static_cast<GathererNode*>(self)->emit(*event);
             });
           }};
}

void GathererNode::open() {
  detail::ErrorBuffer error;
  const auto& table = instance_.table<loupe_gatherer>();
  opening_ = true;
  const loupe_status status = call_component(instance_.speaker(), error.get(), [&] {
    return table.open(instance_.self(), &taps_, module_.c_module(), has_label_ ? label_.c_str() : nullptr, error.get());
  });
  opening_ = false;
  error.check(status);
}

void GathererNode::subscribe(const loupe_subscription& subscription) {
  // Later the streams are read without a lock.
  if (!opening_) throw Error("a gatherer subscribes while it is opened, and at no other time", LOUPE_INVALID);
  const char* label = subscription.label != nullptr ? subscription.label : "";
  Stream& stream = module_.stream_to_subscribe(subscription.tap, label, subscription.index);
  of_steps_ = of_steps_ && subscription.tap != LOUPE_TAP_PUSH && subscription.tap != LOUPE_TAP_TICK;
  stream.add(*this);
  streams_.push_back(&stream);
}

void GathererNode::add(loupe_source& source) {
  source.module = &module_;
  source.mutex = &module_.mutex();
  source.gatherer = this;
  wants_tensors_ = wants_tensors_ || source.request.wants_tensor != 0;
  uint32_t number = kNoGroup;
  if (source.request.measures != 0) {
    const auto shared = std::find_if(groups_.begin(), groups_.end(),
                                     [&](const Group& group) { return group.accepts(source.request, *source.guard); });
    number = static_cast<uint32_t>(shared - groups_.begin());
    if (shared == groups_.end()) {
      groups_.emplace_back(source.request, module_.history(), *source.guard);
      if (module_.keeps_steps()) keep_steps();
    } else {
      shared->measurer.merge(source.request);
      shared->merge(source.request, *source.guard);
    }
  }
  const uint32_t training = source.request.pass_by_grad != 0 ? LOUPE_EVENT_GRAD_ENABLED : LOUPE_EVENT_TRAINING;
  constexpr uint32_t both = LOUPE_PLACE_BOTH;
  const uint32_t places = source.request.places != 0 ? source.request.places : both;
  // What a lens brings of its own, without a series, only looks.
  const bool shows = source.owned.self() != nullptr || source.table->series_count(source.self) > 0;
  const Subscriber added{&source,
                         source.guard,
                         source.table->process,
                         source.self,
                         number,
                         source.request.passes,
                         places,
                         training,
                         source.request.wants_tensor != 0,
                         shows,
                         (source.request.measures & LOUPE_MEASURE_CHANGE) != 0};
  const auto comes_before = [](const Subscriber& a, const Subscriber& b) {
    return std::make_pair(a.is_of_devices(), a.group) < std::make_pair(b.is_of_devices(), b.group);
  };
  subscribers_.insert(std::upper_bound(subscribers_.begin(), subscribers_.end(), added, comes_before), added);
  on_processor_ += added.is_of_devices() ? 0 : 1;
  follow_lenses();
  follow_by_streams();
}

void GathererNode::follow_by_streams() {
  for (Stream* stream : streams_) stream->follow_lenses();
}

void GathererNode::prefetch(const GathererNode* node) {
  constexpr std::size_t head = 72;                        // what comes before taps_
  constexpr std::size_t mostly = 3 * sizeof(Subscriber);  // that are called
  detail::prefetch(node, head + sizeof(taps_) + sizeof(groups_) + mostly);
}

void GathererNode::event(loupe_event& event, ForwardTensors* tensors) {
  if (failed_ || !awake_) return;
  const Exclusive::Call call(calls_, "event", instance_.speaker());
  // What a preprocessor allocated first, its series, mostly lies right behind it.
  const uint32_t place = place_of(event);
  for (std::size_t i = 0; i < may_take(place); ++i) {
    const Subscriber& subscriber = subscribers_[i];
    if ((subscriber.places & place) != 0 && subscriber.tally == nullptr)
      detail::prefetch(subscriber.self, subscriber.shows ? 512 : 64);
  }
  if (hands_on_) {
    hand_on(event, tensors);
  } else {
    if (tensors != nullptr && reads_tensors_) tensors->lend(event);
    detail::ErrorBuffer error;
    in_event_ = true;
    const loupe_status status = call_component(instance_.speaker(), error.get(), [&] {
      return instance_.table<loupe_gatherer>().event(instance_.self(), &event, error.get());
    });
    in_event_ = false;
    if (status != LOUPE_OK && !stop_) blame_everybody(error.text(), event.tap);
  }
  if (stop_) std::rethrow_exception(std::exchange(stop_, nullptr));
}

void GathererNode::emit(const loupe_event& event) {
  if (!in_event_) throw Error("a gatherer emits while it is given an event, and at no other time", LOUPE_INVALID);
  loupe_event out = copy_known(event);
  hand_on(out, /*tensors=*/nullptr);  // it has those that it was given
}

void GathererNode::hand_on(loupe_event& event, ForwardTensors* tensors) {
  const uint32_t place = place_of(event);
  const bool on_device = place == LOUPE_PLACE_DEVICE;
  loupe_measurement measurement;
  uint32_t measured = kNoGroup;
  bool taken = false;
  const uint32_t stands_for = timed_.next();
  double measuring = 0;  // each taker's share of it
  const std::size_t end = may_take(place);
  for (std::size_t i = 0; i < end; ++i) {
    Subscriber& subscriber = subscribers_[i];
    if (!subscriber.takes_now(event.flags, place, of_steps_)) continue;
    if (subscriber.shows) unticked_ += std::exchange(taken, true) ? 0 : 1;
    event.measurement = nullptr;
    const bool is_measured = subscriber.is_measured();
    if (is_measured && event.tensor != nullptr) {
      if (subscriber.group != measured && !(on_device && is_measured_already(i, event.flags))) {
        measured = subscriber.group;
        Group& group = groups_[measured];
        group.fresh = false;
        if (group.kept) group.kept->prefetch();
        const double start = stands_for != 0 ? steady_time() : 0;
        if (on_device) {
          measure_on_device(group, event);
          if (group.kept) group.kept->expect(event);
        } else {
          measurement = group.measurer.measure(*event.tensor);
          if (group.kept) group.kept->take(event, measurement);
        }
        if (stands_for != 0) measuring = (steady_time() - start) / takers(measured, event.flags, place);
      }
      event.measurement = on_device ? nullptr : &measurement;
    }
    const double start = stands_for != 0 ? steady_time() : 0;
    const bool comes_later = on_device && is_measured && !subscriber.wants_tensor;  // at the tick
    const bool is_added_up = subscriber.tally != nullptr && event.measurement != nullptr &&
                             loupe_tally::is_usual(event, measurement, subscriber.compares);
    if (is_added_up) {
      subscriber.tally->add(*subscriber.source, measurement);
    } else if (!comes_later) {
      if (subscriber.reads_tensors() && tensors != nullptr) std::exchange(tensors, nullptr)->lend(event);
      process(subscriber, event);
    }
    if (stands_for == 0) continue;
    const double seconds = steady_time() - start + (is_measured ? measuring : 0);
    subscriber.guard->cost().spend(subscriber.usual.of(seconds, stands_for), of_steps_);
  }
  event.measurement = nullptr;
}

/// On a device, by a subscriber before that one: those of one group lie in two places there.
bool GathererNode::is_measured_already(std::size_t subscriber, uint32_t flags) const {
  return std::any_of(subscribers_.begin(), subscribers_.begin() + static_cast<std::ptrdiff_t>(subscriber),
                     [&](const Subscriber& each) {
                       return each.group == subscribers_[subscriber].group && each.is_measured() &&
                              each.takes_now(flags, LOUPE_PLACE_DEVICE, of_steps_);
                     });
}

int GathererNode::takers(uint32_t group, uint32_t flags, uint32_t place) const {
  return static_cast<int>(std::count_if(subscribers_.begin(), subscribers_.end(), [&](const Subscriber& subscriber) {
    return subscriber.group == group && subscriber.is_measured() && subscriber.takes_now(flags, place, of_steps_);
  }));
}

void GathererNode::process(const Subscriber& subscriber, const loupe_event& event) {
  detail::ErrorBuffer error;
  const loupe_status status = call_component(subscriber.guard->speaker(), error.get(),
                                             [&] { return subscriber.process(subscriber.self, &event, error.get()); });
  if (status == LOUPE_OK) return;
  try {
    subscriber.guard->fault("its preprocessor '" + subscriber.source->preprocessor + "' at " + tap_name(event.tap) +
                                " of " + module_.shown_name(),
                            error.text());
  } catch (...) {
    stop_ = std::current_exception();  // the gatherer's C frames may lie between here and the trainer
  }
}

void GathererNode::measure_on_device(Group& group, const loupe_event& event) {
  if (!group.device) {
    const DeviceMeasurerFactory make = device_factory();
    if (!make) throw Error("tensors on a device cannot be measured by this host", LOUPE_UNSUPPORTED);
    group.device = make(group.request, module_.history());
  }
  group.tap = event.tap;
  const uint32_t missed = (group.is_skipped ? kSkippedBySome : 0) | (group.is_rested ? kRestedBySome : 0);
  group.device->measure(*event.tensor, event.flags | missed, event.number);
}

void GathererNode::prime(const loupe_tensor& tensor) {
  for (Group& group : groups_) {
    if (!group.fresh || group.resting ||
        (group.request.measures & (LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_CHANGE_PREVIOUS)) == 0)
      continue;
    if (tensor.device_type == LOUPE_DEVICE_CPU) {
      group.measurer.prime(tensor);
    } else if (const DeviceMeasurerFactory make = device_factory()) {
      if (!group.device) group.device = make(group.request, module_.history());
      group.device->prime(tensor);
    }
  }
}

void GathererNode::follow_lenses() {
  awake_ = subscribers_.empty();
  reads_tensors_ = false;
  for (Subscriber& subscriber : subscribers_) {
    subscriber.rests = subscriber.source->rests;
    subscriber.tally = subscriber.source->tally;
    if (!looks(subscriber)) continue;
    awake_ = true;
    reads_tensors_ = reads_tensors_ || subscriber.reads_tensors();
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    const bool was_resting = std::exchange(group.resting, true);
    group.is_skipped = group.is_rested = false;
    uint32_t measures = 0;
    for (const Subscriber& subscriber : subscribers_) {
      if (subscriber.group != i) continue;
      if (subscriber.guard->resting()) continue;
      if (looks(subscriber) && subscriber.is_measured()) {
        group.resting = false;
        measures |= subscriber.source->request.measures;
      } else if (subscriber.rests != 0) {
        group.is_rested = true;
      } else {
        group.is_skipped = true;
      }
    }
    if (group.resting) continue;
    // What only those want that do not look is not measured.
    const bool begins_to_compare = group.measurer.restrict_to(measures);
    if (was_resting || begins_to_compare) group.begin_anew();
  }
}

void GathererNode::rest(loupe_source& source, uint32_t what) {
  if (source.rests == what) return;
  source.rests = what;
  source.has_rested = true;
  follow_lenses();
  follow_by_streams();
}

void GathererNode::use_tally(loupe_source& source, loupe_tally* tally) {
  source.tally = tally;
  for (Subscriber& subscriber : subscribers_) subscriber.tally = subscriber.source->tally;
}

void GathererNode::ticked() {
  unticked_ = 0;
  timed_.begin_epoch();
  for (const Subscriber& subscriber : subscribers_) subscriber.source->has_rested = subscriber.rests != 0;
}

void GathererNode::forget_history() {
  for (Group& group : groups_) group.begin_anew();
}

void GathererNode::collect_deferred() {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (!groups_[i].device) continue;
    groups_[i].device->collect([&](const loupe_measurement& measurement, uint32_t flags, uint64_t number) {
      const bool skipped_by_some = (flags & kSkippedBySome) != 0, rested_by_some = (flags & kRestedBySome) != 0;
      flags &= ~(kSkippedBySome | kRestedBySome);
      loupe_event event{};
      event.struct_size = sizeof event;
      event.tap = groups_[i].tap;
      event.flags = flags | LOUPE_EVENT_DEFERRED;
      event.module = module_.c_module();
      event.label = has_label_ ? label_.c_str() : nullptr;
      event.measurement = &measurement;
      event.number = number;
      if (groups_[i].kept) groups_[i].kept->fill(number, measurement);
      for (const Subscriber& subscriber : subscribers_) {
        const bool missed =
            (skipped_by_some && subscriber.guard->has_skipped()) || (rested_by_some && subscriber.source->has_rested);
        const bool takes = subscriber.group == i && !subscriber.wants_tensor && !missed;
        // Whether a lens skips the step that is on says nothing of those that were measured.
        if (takes && subscriber.takes(flags, LOUPE_PLACE_DEVICE, /*of_a_step=*/false)) process(subscriber, event);
      }
    });
    if (stop_) std::rethrow_exception(std::exchange(stop_, nullptr));
  }
}

std::size_t GathererNode::bytes() const {
  std::size_t sum = 0;
  for (const Group& group : groups_) sum += group.measurer.bytes();
  return sum;
}

void GathererNode::keep_steps() {
  for (Group& group : groups_) {
    if (!group.kept) group.kept = std::make_unique<StepRing>();
  }
}

void GathererNode::each_kept(const std::function<void(const std::string&, const StepRing&)>& take) const {
  const std::string place = module_.c_module() != nullptr ? module_.description().name + " " : "";
  const std::string stream = place + entry_.component->name + (has_label_ ? " " + label_ : "");
  for (const Group& group : groups_) {
    if (group.kept && group.kept->count() > 0) take(stream, *group.kept);
  }
}

void GathererNode::blame_everybody(const std::string& what, uint32_t tap) {
  failed_ = true;
  for (const Subscriber& subscriber : subscribers_) {
    subscriber.guard->fault(std::string("its gatherer '") + entry_.component->name + "' at " + tap_name(tap) + " of " +
                                module_.shown_name(),
                            what);
  }
}

}  // namespace loupe
