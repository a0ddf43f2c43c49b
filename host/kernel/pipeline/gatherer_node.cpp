#include "pipeline/gatherer_node.h"

#include <loupe/detail/whole.h>
#include <loupe/error.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <set>
#include <utility>

#include "core/cache.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/strict.h"
#include "core/text.h"
#include "pipeline/module_node.h"

namespace loupe {
namespace {

std::atomic<DeviceMeasurerFactory> device_factory{nullptr};

/// A flag added to an event that a device measured: some source rested.
constexpr uint32_t kSomeRested = 1U << 31;

uint32_t place_of(const loupe_event& event) {
  const bool on_device = event.tensor != nullptr && event.tensor->device_type != LOUPE_DEVICE_CPU;
  return on_device ? LOUPE_PLACE_DEVICE : LOUPE_PLACE_CPU;
}

std::atomic<EventPrint> event_print{nullptr};

/// Returns a hash of the tensors that an event lends if mistakes are errors; else 0.
uint64_t print_of(const loupe_event& event) {
  const EventPrint print = refuses_mistakes() ? event_print.load(std::memory_order_relaxed) : nullptr;
  return print != nullptr ? print(event) : 0;
}

constexpr const char* wrote =
    "it wrote to a lent tensor, which changes training; tensors are read-only, so change a clone";

}  // namespace

void set_device_measurer_factory(DeviceMeasurerFactory factory) {
  device_factory = factory;
}

bool MeasureGroup::sees_the_same(const loupe_request& wanted, const LensGuard& guard) const {
  return request_.passes == wanted.passes && ((request_.flags ^ wanted.flags) & LOUPE_REQUEST_PASS_BY_GRADIENT) == 0 &&
         every_ == guard.every();
}

/// Sources that compare an event with the previous one must see the same events, except for sparse ones: those are
/// compared with none.
bool MeasureGroup::accepts(const loupe_request& wanted, const LensGuard& guard) const {
  constexpr uint32_t history = LOUPE_MEASURE_PREVIOUS | LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_CHANGE_PREVIOUS;
  const bool compares = ((request_.measures | wanted.measures) & history) != 0;
  return measurer_.accepts(wanted) && (!compares || (!mixed_ && sees_the_same(wanted, guard)));
}

void MeasureGroup::merge(const loupe_request& wanted, const LensGuard& guard) {
  measurer_.merge(wanted);
  mixed_ = mixed_ || !sees_the_same(wanted, guard);
  if ((request_.measures & LOUPE_MEASURE_ACTIVITY) == 0) {
    request_.unit_dimension = wanted.unit_dimension;
    request_.eps = wanted.eps;
  }
  request_.measures |= wanted.measures;
}

void MeasureGroup::restrict_to(uint32_t measures, bool some_rest) {
  some_rest_ = some_rest;
  const bool was_resting = std::exchange(resting_, measures == 0);
  if (resting_) return;
  const bool begins_to_compare = measurer_.restrict_to(measures);
  if (was_resting || begins_to_compare) begin_anew();
}

void MeasureGroup::begin_anew() {
  fresh_ = true;
  measurer_.forget_history();
  if (device_) device_->forget();
}

/// Null if this host cannot measure on devices.
DeviceMeasurer* MeasureGroup::device() {
  if (!device_) {
    if (const DeviceMeasurerFactory make = device_factory) device_ = make(request_, history_);
  }
  return device_.get();
}

void MeasureGroup::prime(const loupe_tensor& tensor) {
  constexpr uint32_t changes = LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_CHANGE_PREVIOUS;
  if (!fresh_ || resting_ || (request_.measures & changes) == 0) return;
  if (tensor.device_type == LOUPE_DEVICE_CPU) {
    measurer_.prime(tensor);
  } else if (DeviceMeasurer* on_device = device()) {
    on_device->prime(tensor);
  }
}

void MeasureGroup::measure_on_device(const loupe_event& event) {
  fresh_ = false;
  DeviceMeasurer* on_device = device();
  if (on_device == nullptr) throw Error("tensors on a device cannot be measured by this host", LOUPE_UNSUPPORTED);
  on_device->measure(*event.tensor, event.flags | (some_rest_ ? kSomeRested : 0), event.number);
  deferred_.push_back({event.step, event.tap, event.index});
}

void MeasureGroup::add_hearer(const Hearer& hearer, const loupe_module* module, const std::string& name) {
  const RunningComponent running(hearer.guard->speaker());
  if (void* const handle = hearer.table->begin(hearer.self, module, name.c_str())) heard_.push_back({hearer, handle});
}

void MeasureGroup::collect(loupe_event event, const Deliver& deliver) {
  if (!device_) return;
  std::size_t next = 0;
  device_->collect([&](const loupe_measurement& measurement, uint32_t flags, uint64_t number) {
    const Deferred& of = deferred_[next++];
    event.step = of.step;
    event.tap = of.tap;
    event.index = of.index;
    event.flags = (flags & ~kSomeRested) | LOUPE_EVENT_DEFERRED;
    event.measurement = &measurement;
    event.number = number;
    tell(event);
    deliver(event, (flags & kSomeRested) != 0);
  });
  deferred_.clear();
}

void set_event_print(EventPrint print) {
  event_print = print;
}

GathererNode::GathererNode(ModuleNode& module, std::string key, const CatalogueEntry& entry,
                           std::shared_ptr<const OptionSet> options, const char* label)
    : options_(std::move(options)),
      instance_(entry, options_->get(),
                std::string("the gatherer '") + entry.component->name + "' on " + module.shown_name(), nullptr),
      module_(module),
      key_(std::move(key)),
      entry_(entry),
      label_(label != nullptr ? label : ""),
      has_label_(label != nullptr) {
  hands_on_ = !LOUPE_OFFERS(instance_.table<loupe_gatherer>(), event);
  taps_ = {.struct_size = sizeof(loupe_taps),
           .context = this,
           .subscribe = &Bound<&GathererNode::subscribe>::call,
           .emit = &Bound<&GathererNode::emit>::call,
           .get_extension = [](void*, const char*) -> const void* { return nullptr; }};
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

void GathererNode::subscribe(const loupe_subscription* asked) {
  const loupe_subscription subscription = detail::known_part(given(asked, "a subscription is null"));
  // Later the streams are read without a lock.
  if (!opening_) throw Error("a gatherer may subscribe only in open()", LOUPE_INVALID);
  const char* label = subscription.label != nullptr ? subscription.label : "";
  Stream& stream = module_.stream_to_subscribe(subscription.tap, label, subscription.index);
  stream.add(*this);
  streams_.push_back(&stream);
}

void GathererNode::add(loupe_source& source) {
  source.mutex = &module_.mutex();
  source.gatherer = this;
  const bool wants_tensor = (source.request.flags & LOUPE_REQUEST_TENSORS) != 0;
  wants_tensors_ = wants_tensors_ || wants_tensor;
  uint32_t number = kNoGroup;
  if (source.request.measures != 0) {
    const auto shared = std::find_if(groups_.begin(), groups_.end(), [&](const MeasureGroup& group) {
      return group.accepts(source.request, *source.guard);
    });
    number = static_cast<uint32_t>(shared - groups_.begin());
    if (shared == groups_.end()) {
      groups_.emplace_back(source.request, module_.history(), *source.guard);
      for (const Hearer& each : module_.hearers()) add_hearer(groups_.back(), each);
    } else {
      shared->merge(source.request, *source.guard);
    }
  }
  const bool by_gradient = (source.request.flags & LOUPE_REQUEST_PASS_BY_GRADIENT) != 0;
  const uint32_t training = by_gradient ? LOUPE_EVENT_GRAD_ENABLED : LOUPE_EVENT_TRAINING;
  // A lens's own preprocessor without a series only reads.
  const bool shows = source.owned.self() != nullptr || source.table->series_count(source.self) > 0;
  const Subscriber added{&source,
                         source.guard,
                         source.table->process,
                         source.self,
                         number,
                         source.request.passes,
                         source.request.places,
                         training,
                         (source.request.flags & LOUPE_REQUEST_SPARSE) == 0 ? uint32_t{LOUPE_EVENT_SPARSE} : 0,
                         wants_tensor,
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

void GathererNode::event(loupe_event& event, ForwardTensors* tensors) {
  if (failed_ || resting_) return;
  const Exclusive::Call call(calls_, "event", instance_.speaker());
  if (hands_on_) {
    hand_on(event, tensors);
  } else {
    if (tensors != nullptr && reads_tensors_) tensors->lend(event);
    detail::ErrorBuffer error;
    in_event_ = true;
    has_blamed_writer_ = false;
    const uint64_t before = print_of(event);
    const loupe_status status = call_component(instance_.speaker(), error.get(), [&] {
      return instance_.table<loupe_gatherer>().event(instance_.self(), &event, error.get());
    });
    in_event_ = false;
    if (status != LOUPE_OK && !stop_) blame_everybody(error.text(), event.tap);
    if (status == LOUPE_OK && !stop_ && !has_blamed_writer_ && print_of(event) != before)
      blame_everybody(wrote, event.tap);
  }
  if (stop_) std::rethrow_exception(std::exchange(stop_, nullptr));
}

void GathererNode::fetch() const {
  fetch_lines(&failed_, &taps_);
  fetch_lines(&groups_, sizeof groups_);
  fetch_lines(&on_processor_, &on_processor_ + 1);
  fetch_lines(&subscribers_, sizeof subscribers_ - (few_subscribers - 1) * sizeof(Subscriber));
}

void GathererNode::emit(const loupe_event* event) {
  loupe_event out = detail::known_part(given(event, "the emitted event is null"));
  if (!in_event_) throw Error("a gatherer may emit only in event()", LOUPE_INVALID);
  hand_on(out, /*tensors=*/nullptr);  // the event has its tensors already
}

void GathererNode::hand_on(loupe_event& event, ForwardTensors* tensors) {
  const uint32_t place = place_of(event);
  const bool on_device = place == LOUPE_PLACE_DEVICE;
  loupe_measurement measurement;
  uint32_t measured = kNoGroup;
  bool taken = false;
  if ((event.flags & LOUPE_EVENT_SPARSE) != 0 && !std::exchange(told_of_sparse_, true)) tell_of_sparse();
  const uint32_t stands_for = timed_.next();
  double measuring = 0;  // each taker's share of it
  const std::size_t end = count_at(place);
  for (std::size_t i = 0; i < end; ++i) {
    Subscriber& subscriber = subscribers_[i];
    if (!subscriber.accepts_now(event.flags, place)) continue;
    has_events_ = true;
    if (subscriber.shows) unticked_ += std::exchange(taken, true) ? 0 : 1;
    event.measurement = nullptr;
    const bool is_measured = subscriber.is_measured();
    fetch_lines(subscriber.self, 2 * cache_line);  // loads while the tensor is measured
    if (is_measured && event.tensor != nullptr) {
      if (subscriber.group != measured && !(on_device && is_measured_already(i, event.flags))) {
        measured = subscriber.group;
        const double start = stands_for != 0 ? steady_time() : 0;
        if (on_device) {
          groups_[measured].measure_on_device(event);
        } else {
          measurement = groups_[measured].measure(event);
          event.measurement = &measurement;
        }
        groups_[measured].tell(event);
        if ((event.flags & LOUPE_EVENT_SPARSE) != 0) groups_[measured].begin_anew();  // not all sources see it
        if (stands_for != 0) measuring = (steady_time() - start) / accepting(measured, event.flags, place);
      }
      event.measurement = on_device ? nullptr : &measurement;
    }
    const double start = stands_for != 0 ? steady_time() : 0;
    const bool comes_later = on_device && is_measured && !subscriber.wants_tensor;  // its measurement comes at the tick
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
    subscriber.guard->cost().spend(subscriber.usual.of(seconds, stands_for));
  }
  event.measurement = nullptr;
}

void GathererNode::tell_of_sparse() {
  std::set<std::string> lenses;
  for (const Subscriber& subscriber : subscribers_) {
    if ((subscriber.refuses & LOUPE_EVENT_SPARSE) != 0) lenses.insert(subscriber.guard->speaker());
  }
  if (lenses.empty()) return;
  log(LOUPE_LOG_WARNING, "for the sparse values of " + (has_label_ ? "'" + label_ + "' of " : "") +
                             module_.shown_name() + " (" + tap_name(streams_.front()->tap()) +
                             "), nothing is shown by " + join(lenses) + "; a lens gets them by LOUPE_REQUEST_SPARSE");
}

/// Whether it was already measured for an earlier subscriber; on a device, a group's subscribers are in two places.
bool GathererNode::is_measured_already(std::size_t subscriber, uint32_t flags) const {
  return std::any_of(subscribers_.begin(), subscribers_.begin() + static_cast<std::ptrdiff_t>(subscriber),
                     [&](const Subscriber& each) {
                       return each.group == subscribers_[subscriber].group && each.is_measured() &&
                              each.accepts_now(flags, LOUPE_PLACE_DEVICE);
                     });
}

int GathererNode::accepting(uint32_t group, uint32_t flags, uint32_t place) const {
  return static_cast<int>(std::count_if(subscribers_.begin(), subscribers_.end(), [&](const Subscriber& subscriber) {
    return subscriber.group == group && subscriber.is_measured() && subscriber.accepts_now(flags, place);
  }));
}

void GathererNode::process(const Subscriber& subscriber, const loupe_event& event) {
  detail::ErrorBuffer error;
  const uint64_t before = print_of(event);
  const loupe_status status = call_component(subscriber.guard->speaker(), error.get(),
                                             [&] { return subscriber.process(subscriber.self, &event, error.get()); });
  const bool has_written = print_of(event) != before;
  if (status == LOUPE_OK && !has_written) return;
  has_blamed_writer_ = has_blamed_writer_ || has_written;
  try {
    subscriber.guard->fault(subscriber.source->speaker() + " at " + tap_name(event.tap) + " of " + module_.shown_name(),
                            has_written ? wrote : error.text());
  } catch (...) {
    stop_ = std::current_exception();  // C functions of the gatherer may be on the stack
  }
}

void GathererNode::prime(const loupe_tensor& tensor) {
  for (MeasureGroup& group : groups_) group.prime(tensor);
}

void GathererNode::follow_lenses() {
  resting_ = !subscribers_.empty();
  reads_tensors_ = false;
  for (Subscriber& subscriber : subscribers_) {
    subscriber.rests = subscriber.source->rests;
    subscriber.tally = subscriber.source->tally;
    if (rests(subscriber)) continue;
    resting_ = false;
    reads_tensors_ = reads_tensors_ || subscriber.reads_tensors();
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    bool some_rest = false;
    uint32_t measures = 0;  // measures that only resting sources want are skipped
    for (const Subscriber& subscriber : subscribers_) {
      if (subscriber.group != i || subscriber.guard->resting()) continue;
      if (!rests(subscriber) && subscriber.is_measured()) {
        measures |= subscriber.source->request.measures;
      } else {
        some_rest = true;
      }
    }
    groups_[i].restrict_to(measures, some_rest);
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
  has_events_ = false;
  timed_.begin_epoch();
  for (const Subscriber& subscriber : subscribers_) subscriber.source->has_rested = subscriber.rests != 0;
}

void GathererNode::forget_history() {
  for (MeasureGroup& group : groups_) group.begin_anew();
}

void GathererNode::collect_deferred() {
  const loupe_event common{
      .struct_size = sizeof(loupe_event), .module = module_.c_module(), .label = has_label_ ? label_.c_str() : nullptr};
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].collect(common, [&](const loupe_event& event, bool some_rested) {
      for (const Subscriber& subscriber : subscribers_) {
        const bool missed = some_rested && subscriber.source->has_rested;
        if (subscriber.group == i && !subscriber.wants_tensor && !missed &&
            subscriber.accepts(event.flags, LOUPE_PLACE_DEVICE))
          process(subscriber, event);
      }
    });
    if (stop_) std::rethrow_exception(std::exchange(stop_, nullptr));
  }
}

void GathererNode::add_hearer(const Hearer& hearer) {
  for (MeasureGroup& group : groups_) add_hearer(group, hearer);
}

void GathererNode::add_hearer(MeasureGroup& group, const Hearer& hearer) const {
  group.add_hearer(hearer, module_.c_module(),
                   module_.description().name + " " + entry_.component->name + (has_label_ ? " " + label_ : ""));
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
