#include "core/gatherer_node.h"

#include <algorithm>
#include <utility>

#include "core/module_node.h"

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

void set_device_measurer_factory(DeviceMeasurerFactory factory) {
  device_factory() = std::move(factory);
}

GathererNode::GathererNode(ModuleNode& module, std::string key, const CatalogueEntry& entry,
                           std::unique_ptr<OptionSet> options, const char* label)
    : module_(module),
      key_(std::move(key)),
      entry_(entry),
      options_(std::move(options)),
      label_(label != nullptr ? label : ""),
      has_label_(label != nullptr),
      instance_(*entry.component, options_->get()) {
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
  if (source.request.measures != 0) {
    const auto shared =
        std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) { return group.accepts(source.request); });
    source.group = static_cast<std::size_t>(shared - groups_.begin());
    if (shared == groups_.end()) {
      groups_.emplace_back(source.request);
    } else {
      shared->measurer.merge(source.request);
      shared->request.measures |= source.request.measures;
    }
  }
  sources_.push_back(&source);
}

void GathererNode::event(const loupe_event& event) {
  if (failed_) return;
  detail::ErrorBuffer error;
  const loupe_status status = instance_.table<loupe_gatherer>().event(instance_.self(), &event, error.get());
  if (stop_) std::rethrow_exception(std::exchange(stop_, nullptr));
  if (status != LOUPE_OK) blame_everybody(error.text(), event.tap);
}

void GathererNode::emit(const loupe_event& event) {
  ++emission_;
  loupe_event out = copy_known(event);
  const bool on_device = out.tensor != nullptr && out.tensor->device_type != LOUPE_CPU;
  for (loupe_source* source : sources_) {
    if (source->guard->quarantined() || !source->wants(out.flags)) continue;
    out.measurement = nullptr;
    if (source->request.measures != 0 && out.tensor != nullptr) {
      Group& group = groups_[source->group];
      if (group.emission != emission_) {
        group.emission = emission_;
        if (on_device) {
          measure_on_device(group, out);
        } else {
          group.result = &group.measurer.measure(*out.tensor);
        }
      }
      if (on_device && source->request.wants_tensor == 0) continue;  // delivered at the tick
      out.measurement = on_device ? nullptr : group.result;
    }
    process(*source, out);
  }
}

void GathererNode::process(loupe_source& source, const loupe_event& event) {
  detail::ErrorBuffer error;
  if (source.table->process(source.self, &event, error.get()) == LOUPE_OK) return;
  try {
    source.guard->fault(
        "its preprocessor '" + source.preprocessor + "' at " + tap_name(event.tap) + " of " + module_.shown_name(),
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
      for (loupe_source* source : sources_) {
        const bool takes = source->request.measures != 0 && source->group == i && source->request.wants_tensor == 0;
        if (takes && !source->guard->quarantined() && source->wants(flags)) process(*source, event);
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
  for (loupe_source* source : sources_) {
    source->guard->fault(std::string("its gatherer '") + entry_.component->name + "' at " + tap_name(tap) + " of " +
                             module_.shown_name(),
                         what);
  }
}

}  // namespace loupe
