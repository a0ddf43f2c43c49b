/* The layout of every struct of ABI 1.0, held for good: a member that moves breaks plugins that are out there. A newer
 * minor adds members at the end, and lines here; no line ever changes. Sizes of 64-bit systems. */
#include <assert.h>
#include <loupe/abi.h>

/* Structs that may grow are at least as large as they were. */
#define SIZE(TYPE, BYTES) static_assert(sizeof(TYPE) >= BYTES, #TYPE " has shrunk")
#define AT(TYPE, MEMBER, OFFSET) static_assert(offsetof(TYPE, MEMBER) == OFFSET, #TYPE "." #MEMBER " has moved")

SIZE(loupe_error, 16);
AT(loupe_error, struct_size, 0);
AT(loupe_error, capacity, 4);
AT(loupe_error, message, 8);

SIZE(loupe_option, 80);
AT(loupe_option, struct_size, 0);
AT(loupe_option, type, 4);
AT(loupe_option, name, 8);
AT(loupe_option, default_value, 16);
AT(loupe_option, help, 24);
AT(loupe_option, minimum, 32);
AT(loupe_option, maximum, 40);
AT(loupe_option, choices, 48);
AT(loupe_option, choice_count, 56);
AT(loupe_option, names, 64);
AT(loupe_option, options_of, 72);

SIZE(loupe_option_value, 64);
AT(loupe_option_value, struct_size, 0);
AT(loupe_option_value, type, 4);
AT(loupe_option_value, name, 8);
AT(loupe_option_value, integer, 16);
AT(loupe_option_value, number, 24);
AT(loupe_option_value, string, 32);
AT(loupe_option_value, strings, 40);
AT(loupe_option_value, string_count, 48);
AT(loupe_option_value, map, 56);

SIZE(loupe_options, 24);
AT(loupe_options, struct_size, 0);
AT(loupe_options, reserved, 4);
AT(loupe_options, values, 8);
AT(loupe_options, value_count, 16);

SIZE(loupe_tensor, 64);
AT(loupe_tensor, struct_size, 0);
AT(loupe_tensor, dtype, 4);
AT(loupe_tensor, device_type, 8);
AT(loupe_tensor, device_index, 12);
AT(loupe_tensor, data, 16);
AT(loupe_tensor, sizes, 24);
AT(loupe_tensor, strides, 32);
AT(loupe_tensor, dim, 40);
AT(loupe_tensor, numel, 48);
AT(loupe_tensor, native, 56);

SIZE(loupe_tensors, 72);
AT(loupe_tensors, struct_size, 0);
AT(loupe_tensors, reserved, 4);
AT(loupe_tensors, retain, 8);
AT(loupe_tensors, release, 16);
AT(loupe_tensors, view, 24);
AT(loupe_tensors, copy, 32);
AT(loupe_tensors, singular_values, 40);
AT(loupe_tensors, clone, 48);
AT(loupe_tensors, fold, 56);
AT(loupe_tensors, save, 64);

SIZE(loupe_parameter, 32);
AT(loupe_parameter, struct_size, 0);
AT(loupe_parameter, is_buffer, 4);
AT(loupe_parameter, name, 8);
AT(loupe_parameter, dim, 16);
AT(loupe_parameter, numel, 24);

SIZE(loupe_module, 80);
AT(loupe_module, struct_size, 0);
AT(loupe_module, flags, 4);
AT(loupe_module, id, 8);
AT(loupe_module, family, 16);
AT(loupe_module, reserved, 20);
AT(loupe_module, name, 24);
AT(loupe_module, path, 32);
AT(loupe_module, model, 40);
AT(loupe_module, type, 48);
AT(loupe_module, full_type, 56);
AT(loupe_module, parameters, 64);
AT(loupe_module, parameter_count, 72);

SIZE(loupe_request, 32);
AT(loupe_request, struct_size, 0);
AT(loupe_request, measures, 4);
AT(loupe_request, passes, 8);
AT(loupe_request, pass_by_grad, 12);
AT(loupe_request, wants_tensor, 16);
AT(loupe_request, unit_dimension, 20);
AT(loupe_request, epsilon, 24);

SIZE(loupe_measurement, 168);
AT(loupe_measurement, struct_size, 0);
AT(loupe_measurement, measures, 4);
AT(loupe_measurement, numel, 8);
AT(loupe_measurement, nan_count, 16);
AT(loupe_measurement, inf_count, 24);
AT(loupe_measurement, sum, 32);
AT(loupe_measurement, sum_squares, 40);
AT(loupe_measurement, minimum, 48);
AT(loupe_measurement, maximum, 56);
AT(loupe_measurement, active_count, 64);
AT(loupe_measurement, unit_count, 72);
AT(loupe_measurement, dead_units, 80);
AT(loupe_measurement, sample_count, 88);
AT(loupe_measurement, sample_norm_sum, 96);
AT(loupe_measurement, has_previous, 104);
AT(loupe_measurement, dot_previous, 112);
AT(loupe_measurement, previous_sum_squares, 120);
AT(loupe_measurement, has_change, 128);
AT(loupe_measurement, change_sum_squares, 136);
AT(loupe_measurement, dot_change, 144);
AT(loupe_measurement, previous_change_sum_squares, 152);
AT(loupe_measurement, bins, 160);

SIZE(loupe_event, 96);
AT(loupe_event, struct_size, 0);
AT(loupe_event, tap, 4);
AT(loupe_event, flags, 8);
AT(loupe_event, reserved, 12);
AT(loupe_event, module, 16);
AT(loupe_event, label, 24);
AT(loupe_event, tensor, 32);
AT(loupe_event, measurement, 40);
AT(loupe_event, scalar, 48);
AT(loupe_event, number, 56);
AT(loupe_event, inputs, 64);
AT(loupe_event, input_count, 72);
AT(loupe_event, outputs, 80);
AT(loupe_event, output_count, 88);

SIZE(loupe_host, 48);
AT(loupe_host, struct_size, 0);
AT(loupe_host, abi_major, 4);
AT(loupe_host, abi_minor, 8);
AT(loupe_host, reserved, 12);
AT(loupe_host, version, 16);
AT(loupe_host, context, 24);
AT(loupe_host, log, 32);
AT(loupe_host, get_interface, 40);

SIZE(loupe_taps, 32);
AT(loupe_taps, struct_size, 0);
AT(loupe_taps, reserved, 4);
AT(loupe_taps, context, 8);
AT(loupe_taps, subscribe, 16);
AT(loupe_taps, emit, 24);

SIZE(loupe_gatherer, 24);
AT(loupe_gatherer, struct_size, 0);
AT(loupe_gatherer, reserved, 4);
AT(loupe_gatherer, open, 8);
AT(loupe_gatherer, event, 16);

SIZE(loupe_preprocessor, 64);
AT(loupe_preprocessor, struct_size, 0);
AT(loupe_preprocessor, reserved, 4);
AT(loupe_preprocessor, request, 8);
AT(loupe_preprocessor, process, 16);
AT(loupe_preprocessor, series_count, 24);
AT(loupe_preprocessor, series_name, 32);
AT(loupe_preprocessor, aggregate, 40);
AT(loupe_preprocessor, values, 48);
AT(loupe_preprocessor, reset, 56);

SIZE(loupe_watch, 72);
AT(loupe_watch, struct_size, 0);
AT(loupe_watch, reserved, 4);
AT(loupe_watch, module, 8);
AT(loupe_watch, gatherer, 16);
AT(loupe_watch, gatherer_options, 24);
AT(loupe_watch, label, 32);
AT(loupe_watch, preprocessor, 40);
AT(loupe_watch, preprocessor_options, 48);
AT(loupe_watch, own_interface, 56);
AT(loupe_watch, own_preprocessor, 64);

SIZE(loupe_wiring, 56);
AT(loupe_wiring, struct_size, 0);
AT(loupe_wiring, reserved, 4);
AT(loupe_wiring, context, 8);
AT(loupe_wiring, watch, 16);
AT(loupe_wiring, series_count, 24);
AT(loupe_wiring, series_name, 32);
AT(loupe_wiring, aggregate, 40);
AT(loupe_wiring, values, 48);

SIZE(loupe_tag, 48);
AT(loupe_tag, struct_size, 0);
AT(loupe_tag, type, 4);
AT(loupe_tag, name, 8);
AT(loupe_tag, log_y, 16);
AT(loupe_tag, big, 20);
AT(loupe_tag, annotate, 24);
AT(loupe_tag, reserved, 28);
AT(loupe_tag, y_minimum, 32);
AT(loupe_tag, y_maximum, 40);

SIZE(loupe_value, 40);
AT(loupe_value, struct_size, 0);
AT(loupe_value, reserved, 4);
AT(loupe_value, tag, 8);
AT(loupe_value, layer, 16);
AT(loupe_value, line, 24);
AT(loupe_value, value, 32);

SIZE(loupe_range, 56);
AT(loupe_range, struct_size, 0);
AT(loupe_range, reserved, 4);
AT(loupe_range, tag, 8);
AT(loupe_range, layer, 16);
AT(loupe_range, low_name, 24);
AT(loupe_range, high_name, 32);
AT(loupe_range, low, 40);
AT(loupe_range, high, 48);

SIZE(loupe_histogram, 56);
AT(loupe_histogram, struct_size, 0);
AT(loupe_histogram, reserved, 4);
AT(loupe_histogram, tag, 8);
AT(loupe_histogram, layer, 16);
AT(loupe_histogram, line, 24);
AT(loupe_histogram, edges, 32);
AT(loupe_histogram, counts, 40);
AT(loupe_histogram, bin_count, 48);

SIZE(loupe_sink, 56);
AT(loupe_sink, struct_size, 0);
AT(loupe_sink, reserved, 4);
AT(loupe_sink, context, 8);
AT(loupe_sink, tag, 16);
AT(loupe_sink, value, 24);
AT(loupe_sink, range, 32);
AT(loupe_sink, histogram, 40);
AT(loupe_sink, run, 48);

SIZE(loupe_lens, 56);
AT(loupe_lens, struct_size, 0);
AT(loupe_lens, reserved, 4);
AT(loupe_lens, attach, 8);
AT(loupe_lens, visit, 16);
AT(loupe_lens, forget, 24);
AT(loupe_lens, introduce, 32);
AT(loupe_lens, report, 40);
AT(loupe_lens, query, 48);

SIZE(loupe_run, 64);
AT(loupe_run, struct_size, 0);
AT(loupe_run, resumed, 4);
AT(loupe_run, name, 8);
AT(loupe_run, directory, 16);
AT(loupe_run, config, 24);
AT(loupe_run, loupe_version, 32);
AT(loupe_run, libtorch_version, 40);
AT(loupe_run, models, 48);
AT(loupe_run, started, 56);

SIZE(loupe_progress, 48);
AT(loupe_progress, struct_size, 0);
AT(loupe_progress, reserved, 4);
AT(loupe_progress, epoch, 8);
AT(loupe_progress, epochs, 16);
AT(loupe_progress, steps, 24);
AT(loupe_progress, steps_before, 32);
AT(loupe_progress, seconds, 40);

SIZE(loupe_visualizer, 80);
AT(loupe_visualizer, struct_size, 0);
AT(loupe_visualizer, reserved, 4);
AT(loupe_visualizer, begin, 8);
AT(loupe_visualizer, tag, 16);
AT(loupe_visualizer, begin_tick, 24);
AT(loupe_visualizer, value, 32);
AT(loupe_visualizer, range, 40);
AT(loupe_visualizer, histogram, 48);
AT(loupe_visualizer, end_tick, 56);
AT(loupe_visualizer, progress, 64);
AT(loupe_visualizer, end, 72);

SIZE(loupe_component, 88);
AT(loupe_component, struct_size, 0);
AT(loupe_component, reserved, 4);
AT(loupe_component, interface_id, 8);
AT(loupe_component, name, 16);
AT(loupe_component, help, 24);
AT(loupe_component, options, 32);
AT(loupe_component, option_count, 40);
AT(loupe_component, table, 48);
AT(loupe_component, create, 56);
AT(loupe_component, destroy, 64);
AT(loupe_component, aliases, 72);
AT(loupe_component, alias_count, 80);

SIZE(loupe_plugin, 40);
AT(loupe_plugin, struct_size, 0);
AT(loupe_plugin, reserved, 4);
AT(loupe_plugin, name, 8);
AT(loupe_plugin, version, 16);
AT(loupe_plugin, components, 24);
AT(loupe_plugin, component_count, 32);

static_assert(sizeof(loupe_entry) == 24, "the bootstrap is frozen");
AT(loupe_entry, magic, 0);
AT(loupe_entry, abi_major, 8);
AT(loupe_entry, abi_minor, 12);
AT(loupe_entry, get_interface, 16);
