#pragma once

// Checks that a struct of the other side has the members that this side reads: those beyond its `struct_size` must not
// be read. Ask for members newer than 1.0 where they are read.

#include <loupe/abi.h>
#include <loupe/error.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

namespace loupe {
inline namespace v1_0 {
namespace detail {

/// The other side's struct as far as this side knows it: members that it lacks are zero, newer ones are left out.
template <class T>
T known_part(const T& other) {
  T copy{};
  const std::size_t size = std::min<std::size_t>(other.struct_size, sizeof copy);
  std::memcpy(&copy, &other, size);
  copy.struct_size = static_cast<uint32_t>(sizeof copy);
  return copy;
}

inline void need(bool there, const char* what) {
  if (!there) throw Error(std::string(what) + " is missing, or shorter than ABI 1.0 has it", LOUPE_INVALID);
}

// Each throws Error unless all that ABI 1.0 has of the struct is there. Costs a comparison each.
inline void need_whole(const loupe_host* host) {
  need(host != nullptr && LOUPE_REACHES(*host, get_extension), "the host");
}
inline void need_whole(const loupe_options* options) {
  if (options == nullptr) return;
  need(LOUPE_REACHES(*options, value_count), "the options");
  for (std::size_t i = 0; i < options->value_count; ++i) {
    const loupe_option_value* value = options->values[i];
    need(value != nullptr && LOUPE_REACHES(*value, map), "an option's value");
    if (value->type == LOUPE_TYPE_MAP) need_whole(value->map);
  }
}
inline void need_whole(const loupe_taps* taps) {
  need(taps != nullptr && LOUPE_REACHES(*taps, get_extension), "the taps");
}
inline void need_whole(const loupe_wiring* wiring) {
  need(wiring != nullptr && LOUPE_REACHES(*wiring, get_extension), "the wiring");
}
inline void need_whole(const loupe_sink* sink) {
  need(sink != nullptr && LOUPE_REACHES(*sink, get_extension), "the sink");
}
inline void need_whole(const loupe_module* module) {
  if (module == nullptr) return;
  need(LOUPE_REACHES(*module, parameter_count), "a module");
  need(module->model == nullptr || LOUPE_REACHES(*module->model, own_name), "a module's model");
  for (std::size_t i = 0; i < module->parameter_count; ++i)
    need(LOUPE_REACHES(*module->parameters[i], sizes), "a module's parameter");
}
inline void need_whole(const loupe_optimizer* optimizer) {
  if (optimizer == nullptr) return;
  need(LOUPE_REACHES(*optimizer, group_count), "an optimizer");
  for (std::size_t i = 0; i < optimizer->group_count; ++i) {
    need(LOUPE_REACHES(*optimizer->groups[i], settings), "an optimizer's group");
    need_whole(optimizer->groups[i]->settings);
  }
}
inline void need_whole(const loupe_tick* tick) {
  need(tick != nullptr && LOUPE_REACHES(*tick, optimizer_count), "the tick");
  for (std::size_t i = 0; i < tick->optimizer_count; ++i) need_whole(tick->optimizers[i]);
}
inline void need_whole(const loupe_step* step) {
  need(step != nullptr && LOUPE_REACHES(*step, optimizer), "the step");
  need_whole(step->optimizer);
}
inline void need_whole(const loupe_tensor* tensor) {
  need(tensor == nullptr || LOUPE_REACHES(*tensor, native_library), "a tensor");
}
inline void need_whole(const loupe_event* event) {
  need(event != nullptr && LOUPE_REACHES(*event, output_count), "the event");
  need_whole(event->tensor);
  need(event->measurement == nullptr || LOUPE_REACHES(*event->measurement, bin_count), "a measurement");
  need(event->module == nullptr || LOUPE_REACHES(*event->module, parameter_count), "a module");
  for (std::size_t i = 0; i < event->input_count; ++i) need_whole(event->inputs[i]);
  for (std::size_t i = 0; i < event->output_count; ++i) need_whole(event->outputs[i]);
}

// The same for what is shown, where short structs may come from lenses: what they lack is zero, and these members must
// not be.
inline void need_named(const loupe_run& run) {
  need(run.name != nullptr && run.directory != nullptr && run.config != nullptr && run.loupe_version != nullptr &&
           run.libtorch_version != nullptr && run.started != nullptr && run.train_loss != nullptr &&
           run.validation_loss != nullptr,
       "a text of the run");
  need(run.lens_count == 0 || run.lenses != nullptr, "the names of the run's lenses");
  need_whole(run.settings);
}
inline void need_named(const loupe_model& model) {
  need(model.name != nullptr && model.type != nullptr, "the model's name");
  for (std::size_t i = 0; i < model.module_count; ++i) need_whole(model.modules[i]);
}
inline void need_named(const loupe_tag& tag) {
  need(tag.id != nullptr, "the tag's id");
}
inline void need_named(const loupe_tick& tick) {
  for (std::size_t i = 0; i < tick.optimizer_count; ++i) need_whole(tick.optimizers[i]);
}
inline void need_named(const loupe_row& row) {
  need(row.tag != nullptr, "the row's tag");
  need(row.value_count == 0 || (row.value_names != nullptr && row.values != nullptr), "the row's values");
  need(row.band_count == 0 || (row.band_names != nullptr && row.bands != nullptr), "the row's bands");
  for (std::size_t i = 0; i < row.value_count; ++i) need(row.value_names[i] != nullptr, "the name of a row's value");
  for (std::size_t i = 0; i < 2 * row.band_count; ++i) need(row.band_names[i] != nullptr, "a name of a row's band");
}
inline void need_named(const loupe_histogram& histogram) {
  need(histogram.tag != nullptr && histogram.line != nullptr, "the histogram's tag or line");
  need(histogram.edges != nullptr && (histogram.bin_count == 0 || histogram.counts != nullptr), "the histogram's bins");
}
inline void need_named(const loupe_progress&) {}
inline void need_named(const loupe_finding& finding) {
  need(finding.rule != nullptr && finding.message != nullptr, "the finding's rule or message");
  need_whole(finding.module);
}
inline void need_named(const loupe_note& note) {
  need(note.text != nullptr, "the note's text");
}
inline void need_named(const loupe_option_value& value) {
  need(value.name != nullptr, "the name of what the run was set to");
  need(value.type != LOUPE_TYPE_STRING || value.string != nullptr, "the text of what the run was set to");
  need(value.string_count == 0 || value.strings != nullptr, "the texts of what the run was set to");
}
inline void need_named(const loupe_ending&) {}

}  // namespace detail
}  // namespace v1_0
}  // namespace loupe
