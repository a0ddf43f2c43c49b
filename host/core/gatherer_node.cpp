#include "core/gatherer_node.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/module_node.h"
#include "core/prefetch.h"

namespace loupe {
namespace {

DeviceMeasurerFactory& device_factory() {
  static DeviceMeasurerFactory factory;
  return factory;
}

}  // namespace

/// Two that compare an event with the one before must see the same events.
bool GathererNode::Group::accepts(const loupe_request& wanted) const {
  constexpr uint32_t history = LOUPE_MEASURE_PREVIOUS | LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_CHANGE_PREVIOUS;
  const bool compares = ((request.measures | wanted.measures) & history) != 0;
  const bool same_events = request.passes == wanted.passes && request.pass_by_grad == wanted.pass_by_grad;
  return measurer.accepts(wanted) && (!compares || same_events);
}

void GathererNode::Group::merge(const loupe_request& wanted) {
  if ((request.measures & LOUPE_MEASURE_ACTIVITY) == 0) {
    request.unit_dimension = wanted.unit_dimension;
    request.epsilon = wanted.epsilon;
  }
  request.measures |= wanted.measures;
}

void set_device_measurer_factory(DeviceMeasurerFactory factory) {
  device_factory() = std::move(factory);
}

GathererNode::GathererNode(ModuleNode& module, std::string key, const CatalogueEntry& entry,
                           std::unique_ptr<OptionSet> options, const char* label)
    : options_(std::move(options)),
      instance_(*entry.component, options_->get()),
      module_(module),
      key_(std::move(key)),
      entry_(entry),
      label_(label != nullptr ? label : ""),
      has_label_(label != nullptr) {
  taps_ = {sizeof(loupe_taps), 0, this,
           [](void* self, uint32_t tap, const char* name, loupe_error* error) {
             return detail::guarded(error, [&] {
               auto& node = *static_cast<GathererNode*>(self);
               node.module_.stream_to_subscribe(tap, name != nullptr ? name : "").add(node);
             });
           },
           [](void* self, const loupe_event* event, loupe_error* error) {
             return detail::guarded(error, [&] { static_cast<GathererNode*>(self)->emit(*event); });
           }};
}

void GathererNode::open() {
  detail::ErrorBuffer error;
  const auto& table = instance_.table<loupe_gatherer>();
  error.check(
      table.open(instance_.self(), &taps_, module_.c_module(), has_label_ ? label_.c_str() : nullptr, error.get()));
}

void GathererNode::add(loupe_source& source) {
  source.mutex = &module_.mutex();
  wants_tensors_ = wants_tensors_ || source.request.wants_tensor != 0;
  uint32_t number = kNoGroup;
  if (source.request.measures != 0) {
    const auto shared =
        std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) { return group.accepts(source.request); });
    number = static_cast<uint32_t>(shared - groups_.begin());
    if (shared == groups_.end()) {
      groups_.emplace_back(source.request);
    } else {
      shared->measurer.merge(source.request);
      shared->merge(source.request);
    }
  }
  const auto after = std::upper_bound(readers_.begin(), readers_.end(), number,
                                      [](uint32_t group, const Reader& reader) { return group < reader.group; });
  const uint32_t training = source.request.pass_by_grad != 0 ? LOUPE_EVENT_GRAD_ENABLED : LOUPE_EVENT_TRAINING;
  readers_.insert(after, Reader{&source, source.guard, source.table->process, source.self, number,
                                source.request.passes, training, source.request.wants_tensor != 0});
}

void GathererNode::prefetch(const GathererNode* node) {
  constexpr std::size_t head = 64;  // what comes before taps_
  detail::prefetch(node, head + sizeof(taps_) + sizeof(readers_) + sizeof(groups_));
}

void GathererNode::event(const loupe_event& event) {
  if (failed_) return;
  // What a preprocessor allocated first, its series, mostly lies right behind it.
  for (const Reader& reader : readers_) detail::prefetch(reader.self, 512);
  detail::ErrorBuffer error;
  const loupe_status status = instance_.table<loupe_gatherer>().event(instance_.self(), &event, error.get());
  if (stop_) std::rethrow_exception(std::exchange(stop_, nullptr));
  if (status != LOUPE_OK) blame_everybody(error.text(), event.tap);
}

void GathererNode::emit(const loupe_event& event) {
  loupe_event out = copy_known(event);
  const bool on_device = out.tensor != nullptr && out.tensor->device_type != LOUPE_CPU;
  loupe_measurement measurement;
  uint32_t measured = kNoGroup;
  for (const Reader& reader : readers_) {
    if (reader.guard->quarantined() || !reader.wants(out.flags)) continue;
    out.measurement = nullptr;
    if (reader.group != kNoGroup && out.tensor != nullptr) {
      if (reader.group != measured) {
        measured = reader.group;
        Group& group = groups_[measured];
        if (on_device) {
          measure_on_device(group, out);
        } else {
          measurement = group.measurer.measure(*out.tensor);
        }
      }
      if (on_device && !reader.wants_tensor) continue;  // delivered at the tick
      out.measurement = on_device ? nullptr : &measurement;
    }
    process(reader, out);
  }
}

void GathererNode::process(const Reader& reader, const loupe_event& event) {
  detail::ErrorBuffer error;
  if (reader.process(reader.self, &event, error.get()) == LOUPE_OK) return;
  try {
    reader.guard->fault("its preprocessor '" + reader.source->preprocessor + "' at " + tap_name(event.tap) + " of " +
                            module_.shown_name(),
                        error.text());
  } catch (...) {
    stop_ = std::current_exception();  // the gatherer's C frames lie between here and the trainer
  }
}

void GathererNode::measure_on_device(Group& group, const loupe_event& event) {
  if (!group.device) {
    if (!device_factory()) throw Error("tensors on a device cannot be measured by this host", LOUPE_UNSUPPORTED);
    group.device = device_factory()(group.request);
  }
  group.tap = event.tap;
  group.device->measure(*event.tensor, event.flags, event.number);
}

void GathererNode::prime(const loupe_tensor& tensor) {
  for (Group& group : groups_) {
    if ((group.request.measures & (LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_CHANGE_PREVIOUS)) == 0) continue;
    if (tensor.device_type == LOUPE_CPU) {
      group.measurer.prime(tensor);
    } else if (device_factory()) {
      if (!group.device) group.device = device_factory()(group.request);
      group.device->prime(tensor);
    }
  }
}

void GathererNode::collect_deferred() {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (!groups_[i].device) continue;
    groups_[i].device->collect([&](const loupe_measurement& measurement, uint32_t flags, uint64_t number) {
      loupe_event event{};
      event.struct_size = sizeof event;
      event.tap = groups_[i].tap;
      event.flags = flags | LOUPE_EVENT_DEFERRED;
      event.module = module_.c_module();
      event.label = has_label_ ? label_.c_str() : nullptr;
      event.measurement = &measurement;
      event.number = number;
      for (const Reader& reader : readers_) {
        const bool takes = reader.group == i && !reader.wants_tensor;
        if (takes && !reader.guard->quarantined() && reader.wants(flags)) process(reader, event);
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

void GathererNode::blame_everybody(const std::string& what, uint32_t tap) {
  failed_ = true;
  for (const Reader& reader : readers_) {
    reader.guard->fault(std::string("its gatherer '") + entry_.component->name + "' at " + tap_name(tap) + " of " +
                            module_.shown_name(),
                        what);
  }
}

}  // namespace loupe
