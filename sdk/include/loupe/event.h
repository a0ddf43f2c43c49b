#pragma once

#include <loupe/abi.h>
#include <loupe/detail/tensor.h>
#include <loupe/error.h>

#include <optional>
#include <string_view>

namespace loupe {
inline namespace v1_0 {

using Measurement = loupe_measurement;
using Parameter = loupe_parameter;

inline bool is_buffer(const Parameter& parameter) {
  return (parameter.flags & LOUPE_PARAMETER_BUFFER) != 0;
}

/// Whether there was an event before this one to compare with.
inline bool has_previous(const Measurement& measured) {
  return (measured.flags & LOUPE_MEASUREMENT_HAS_PREVIOUS) != 0;
}
/// Whether there was a value before this one to compute the change from.
inline bool has_change(const Measurement& measured) {
  return (measured.flags & LOUPE_MEASUREMENT_HAS_CHANGE) != 0;
}

/// A module as lenses see it. Valid until forget(); for the data that it points at see loupe_module.
class Module {
 public:
  explicit Module(const loupe_module* module) : module_(module) {}

  uint64_t id() const { return module_->id; }
  /// The name to show: the path within the model, after the model's name if several are attached.
  const char* name() const { return module_->name; }
  const char* path() const { return module_->path; }
  /// The module that contains it; empty for a root, and if the host does not know it.
  std::optional<Module> parent() const {
    return module_->parent != nullptr ? std::optional(Module(module_->parent)) : std::nullopt;
  }
  /// The name that its model was attached under; "" for a single, unnamed one, and for a module outside any model.
  const char* model() const {
    const loupe_model* model = module_->model;
    return model != nullptr && model->own_name != nullptr ? model->own_name : "";
  }
  std::string_view type() const { return module_->type; }
  std::string_view full_type() const { return module_->full_type; }
  /// The settings as its type prints them: "3, 4, eps=1e-05"; "" if it prints none, or the host does not know them.
  std::string_view settings() const { return LOUPE_OFFERS(*module_, settings) ? module_->settings : ""; }
  uint32_t family() const { return module_->family; }
  bool is_root() const { return (module_->flags & LOUPE_MODULE_ROOT) != 0; }
  bool is_leaf() const { return (module_->flags & LOUPE_MODULE_LEAF) != 0; }
  /// A function such as torch::relu, named after the module that ran before it.
  bool is_functional() const { return (module_->flags & LOUPE_MODULE_FUNCTIONAL) != 0; }
  bool is_tapped() const { return (module_->flags & LOUPE_MODULE_TAPPED) != 0; }
  bool is_loss() const { return (module_->flags & LOUPE_MODULE_LOSS) != 0; }
  std::size_t parameter_count() const { return module_->parameter_count; }
  const Parameter& parameter(std::size_t i) const { return *module_->parameters[i]; }
  bool has_parameter(std::string_view name) const {
    for (std::size_t i = 0; i < parameter_count(); ++i) {
      if (!is_buffer(parameter(i)) && parameter(i).name == name) return true;
    }
    return false;
  }
  const loupe_module* raw() const { return module_; }
  operator const loupe_module*() const { return module_; }  // for functions that take the C form

 private:
  const loupe_module* module_;
};

/// One event of one stream. Borrowed for the call.
class Event {
 public:
  explicit Event(const loupe_event* event) : event_(event) {}

  uint32_t tap() const { return event_->tap; }
  bool training() const { return (event_->flags & LOUPE_EVENT_TRAINING) != 0; }
  bool grad_enabled() const { return (event_->flags & LOUPE_EVENT_GRAD_ENABLED) != 0; }
  bool is_loss() const { return (event_->flags & LOUPE_EVENT_LOSS) != 0; }
  bool to_memory() const { return (event_->flags & LOUPE_EVENT_MEMORY) != 0; }
  /// Empty for a pushed value and for an event measured on a device.
  TensorView tensor() const { return TensorView(event_->tensor); }
  bool has_measurement() const { return event_->measurement != nullptr; }
  /// The measurement that request() asked for. Throws Error if there is none: nothing was requested, or there is no
  /// tensor.
  const Measurement& measurement() const {
    if (event_->measurement == nullptr) {
      throw Error("this event has no measurement; ask for one in request(), and check has_measurement()");
    }
    return *event_->measurement;
  }
  /// The same with a check: throws Error unless all of `measures`, LOUPE_MEASURE_ bits, were measured.
  const Measurement& measurement(uint32_t measures) const {
    const Measurement& measured = measurement();
    if ((measured.measures & measures) != measures) {
      throw Error("this was not measured; add its LOUPE_MEASURE_ bit to request().measures");
    }
    return measured;
  }
  /// Whether tensor() holds the values of a sparse tensor; see LOUPE_REQUEST_SPARSE.
  bool is_sparse() const { return (event_->flags & LOUPE_EVENT_SPARSE) != 0; }
  double scalar() const { return event_->scalar; }
  const char* label() const { return event_->label != nullptr ? event_->label : ""; }
  uint64_t number() const { return event_->number; }
  /// Steps of the run's clock before this event.
  uint64_t step() const { return event_->step; }
  /// The index of tensor() among the module's outputs or inputs.
  uint32_t index() const { return event_->index; }
  std::size_t input_count() const { return event_->input_count; }
  TensorView input(std::size_t i) const { return TensorView(event_->inputs[i]); }
  std::size_t output_count() const { return event_->output_count; }
  TensorView output(std::size_t i) const { return TensorView(event_->outputs[i]); }
  const loupe_event* raw() const { return event_; }

 private:
  const loupe_event* event_;
};

}  // namespace v1_0
}  // namespace loupe
