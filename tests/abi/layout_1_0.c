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

static_assert(sizeof(loupe_entry) == 24, "the bootstrap is frozen");
AT(loupe_entry, magic, 0);
AT(loupe_entry, abi_major, 8);
AT(loupe_entry, abi_minor, 12);
AT(loupe_entry, get_interface, 16);

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

SIZE(loupe_option, 88);
AT(loupe_option, struct_size, 0);
AT(loupe_option, type, 4);
AT(loupe_option, flags, 8);
AT(loupe_option, reserved, 12);
AT(loupe_option, name, 16);
AT(loupe_option, help, 24);
AT(loupe_option, default_value, 32);
AT(loupe_option, minimum, 40);
AT(loupe_option, maximum, 48);
AT(loupe_option, choices, 56);
AT(loupe_option, choice_count, 64);
AT(loupe_option, names, 72);
AT(loupe_option, options_of, 80);

SIZE(loupe_native_library, 32);
AT(loupe_native_library, struct_size, 0);
AT(loupe_native_library, reserved, 4);
AT(loupe_native_library, name, 8);
AT(loupe_native_library, version, 16);
AT(loupe_native_library, identity, 24);

SIZE(loupe_tensor, 80);
AT(loupe_tensor, struct_size, 0);
AT(loupe_tensor, dtype_code, 4);
AT(loupe_tensor, dtype_bits, 5);
AT(loupe_tensor, dtype_lanes, 6);
AT(loupe_tensor, device_type, 8);
AT(loupe_tensor, device_id, 12);
AT(loupe_tensor, data, 16);
AT(loupe_tensor, sizes, 24);
AT(loupe_tensor, strides, 32);
AT(loupe_tensor, dim, 40);
AT(loupe_tensor, numel, 48);
AT(loupe_tensor, native, 56);
AT(loupe_tensor, native_library, 64);
AT(loupe_tensor, stream, 72);

SIZE(loupe_tensor_service, 48);
AT(loupe_tensor_service, struct_size, 0);
AT(loupe_tensor_service, reserved, 4);
AT(loupe_tensor_service, retain, 8);
AT(loupe_tensor_service, release, 16);
AT(loupe_tensor_service, view, 24);
AT(loupe_tensor_service, clone, 32);
AT(loupe_tensor_service, copy, 40);

SIZE(loupe_tensor_math_service, 24);
AT(loupe_tensor_math_service, struct_size, 0);
AT(loupe_tensor_math_service, reserved, 4);
AT(loupe_tensor_math_service, singular_values, 8);
AT(loupe_tensor_math_service, fold, 16);

SIZE(loupe_tensor_file_service, 16);
AT(loupe_tensor_file_service, struct_size, 0);
AT(loupe_tensor_file_service, reserved, 4);
AT(loupe_tensor_file_service, save, 8);

SIZE(loupe_parameter, 48);
AT(loupe_parameter, struct_size, 0);
AT(loupe_parameter, flags, 4);
AT(loupe_parameter, name, 8);
AT(loupe_parameter, dim, 16);
AT(loupe_parameter, numel, 24);
AT(loupe_parameter, sizes, 32);
AT(loupe_parameter, current_flags, 40);

SIZE(loupe_module, 88);
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
AT(loupe_module, settings, 80);

SIZE(loupe_model, 48);
AT(loupe_model, struct_size, 0);
AT(loupe_model, reserved, 4);
AT(loupe_model, name, 8);
AT(loupe_model, type, 16);
AT(loupe_model, parameter_elements, 24);
AT(loupe_model, modules, 32);
AT(loupe_model, module_count, 40);

SIZE(loupe_parameter_service, 16);
AT(loupe_parameter_service, struct_size, 0);
AT(loupe_parameter_service, reserved, 4);
AT(loupe_parameter_service, lend, 8);

SIZE(loupe_parameter_group, 88);
AT(loupe_parameter_group, struct_size, 0);
AT(loupe_parameter_group, flags, 4);
AT(loupe_parameter_group, learning_rate, 8);
AT(loupe_parameter_group, momentum, 16);
AT(loupe_parameter_group, weight_decay, 24);
AT(loupe_parameter_group, tensor_count, 32);
AT(loupe_parameter_group, element_count, 40);
AT(loupe_parameter_group, unknown_tensor_count, 48);
AT(loupe_parameter_group, unknown_element_count, 56);
AT(loupe_parameter_group, second_momentum, 64);
AT(loupe_parameter_group, epsilon, 72);
AT(loupe_parameter_group, dampening, 80);

SIZE(loupe_optimizer, 48);
AT(loupe_optimizer, struct_size, 0);
AT(loupe_optimizer, reserved, 4);
AT(loupe_optimizer, id, 8);
AT(loupe_optimizer, model, 16);
AT(loupe_optimizer, type, 24);
AT(loupe_optimizer, groups, 32);
AT(loupe_optimizer, group_count, 40);

SIZE(loupe_step, 56);
AT(loupe_step, struct_size, 0);
AT(loupe_step, reserved, 4);
AT(loupe_step, number, 8);
AT(loupe_step, epoch, 16);
AT(loupe_step, epochs, 24);
AT(loupe_step, time, 32);
AT(loupe_step, elapsed, 40);
AT(loupe_step, optimizer, 48);

SIZE(loupe_tick, 72);
AT(loupe_tick, struct_size, 0);
AT(loupe_tick, reason, 4);
AT(loupe_tick, flags, 8);
AT(loupe_tick, reserved, 12);
AT(loupe_tick, number, 16);
AT(loupe_tick, epoch, 24);
AT(loupe_tick, step, 32);
AT(loupe_tick, time, 40);
AT(loupe_tick, elapsed, 48);
AT(loupe_tick, optimizers, 56);
AT(loupe_tick, optimizer_count, 64);

SIZE(loupe_request, 32);
AT(loupe_request, struct_size, 0);
AT(loupe_request, flags, 4);
AT(loupe_request, measures, 8);
AT(loupe_request, passes, 12);
AT(loupe_request, places, 16);
AT(loupe_request, unit_dimension, 20);
AT(loupe_request, epsilon, 24);

SIZE(loupe_measurement, 184);
AT(loupe_measurement, struct_size, 0);
AT(loupe_measurement, measures, 4);
AT(loupe_measurement, flags, 8);
AT(loupe_measurement, reserved, 12);
AT(loupe_measurement, numel, 16);
AT(loupe_measurement, compared, 24);
AT(loupe_measurement, nan_count, 32);
AT(loupe_measurement, inf_count, 40);
AT(loupe_measurement, sum, 48);
AT(loupe_measurement, sum_squares, 56);
AT(loupe_measurement, minimum, 64);
AT(loupe_measurement, maximum, 72);
AT(loupe_measurement, active_count, 80);
AT(loupe_measurement, unit_count, 88);
AT(loupe_measurement, dead_units, 96);
AT(loupe_measurement, sample_count, 104);
AT(loupe_measurement, sample_norm_sum, 112);
AT(loupe_measurement, dot_previous, 120);
AT(loupe_measurement, previous_sum_squares, 128);
AT(loupe_measurement, change_sum_squares, 136);
AT(loupe_measurement, dot_change, 144);
AT(loupe_measurement, previous_change_sum_squares, 152);
AT(loupe_measurement, bins, 160);
AT(loupe_measurement, bin_edges, 168);
AT(loupe_measurement, bin_count, 176);

SIZE(loupe_event, 104);
AT(loupe_event, struct_size, 0);
AT(loupe_event, tap, 4);
AT(loupe_event, flags, 8);
AT(loupe_event, index, 12);
AT(loupe_event, module, 16);
AT(loupe_event, label, 24);
AT(loupe_event, number, 32);
AT(loupe_event, step, 40);
AT(loupe_event, tensor, 48);
AT(loupe_event, measurement, 56);
AT(loupe_event, scalar, 64);
AT(loupe_event, inputs, 72);
AT(loupe_event, input_count, 80);
AT(loupe_event, outputs, 88);
AT(loupe_event, output_count, 96);

SIZE(loupe_host, 56);
AT(loupe_host, struct_size, 0);
AT(loupe_host, abi_major, 4);
AT(loupe_host, abi_minor, 8);
AT(loupe_host, reserved, 12);
AT(loupe_host, version, 16);
AT(loupe_host, plugin_path, 24);
AT(loupe_host, context, 32);
AT(loupe_host, log, 40);
AT(loupe_host, get_interface, 48);

SIZE(loupe_component, 120);
AT(loupe_component, struct_size, 0);
AT(loupe_component, reserved, 4);
AT(loupe_component, interface_id, 8);
AT(loupe_component, name, 16);
AT(loupe_component, aliases, 24);
AT(loupe_component, alias_count, 32);
AT(loupe_component, help, 40);
AT(loupe_component, gives, 48);
AT(loupe_component, give_count, 56);
AT(loupe_component, example, 64);
AT(loupe_component, options, 72);
AT(loupe_component, option_count, 80);
AT(loupe_component, table, 88);
AT(loupe_component, context, 96);
AT(loupe_component, create, 104);
AT(loupe_component, destroy, 112);

SIZE(loupe_plugin, 80);
AT(loupe_plugin, struct_size, 0);
AT(loupe_plugin, reserved, 4);
AT(loupe_plugin, name, 8);
AT(loupe_plugin, version, 16);
AT(loupe_plugin, description, 24);
AT(loupe_plugin, author, 32);
AT(loupe_plugin, license, 40);
AT(loupe_plugin, homepage, 48);
AT(loupe_plugin, components, 56);
AT(loupe_plugin, component_count, 64);
AT(loupe_plugin, unload, 72);

SIZE(loupe_subscription, 24);
AT(loupe_subscription, struct_size, 0);
AT(loupe_subscription, tap, 4);
AT(loupe_subscription, label, 8);
AT(loupe_subscription, index, 16);
AT(loupe_subscription, reserved, 20);

SIZE(loupe_taps, 32);
AT(loupe_taps, struct_size, 0);
AT(loupe_taps, reserved, 4);
AT(loupe_taps, context, 8);
AT(loupe_taps, subscribe, 16);
AT(loupe_taps, emit, 24);

SIZE(loupe_gatherer, 32);
AT(loupe_gatherer, struct_size, 0);
AT(loupe_gatherer, reserved, 4);
AT(loupe_gatherer, get_extension, 8);
AT(loupe_gatherer, open, 16);
AT(loupe_gatherer, event, 24);

SIZE(loupe_preprocessor, 88);
AT(loupe_preprocessor, struct_size, 0);
AT(loupe_preprocessor, reserved, 4);
AT(loupe_preprocessor, get_extension, 8);
AT(loupe_preprocessor, request, 16);
AT(loupe_preprocessor, process, 24);
AT(loupe_preprocessor, series_count, 32);
AT(loupe_preprocessor, series_name, 40);
AT(loupe_preprocessor, aggregate, 48);
AT(loupe_preprocessor, values, 56);
AT(loupe_preprocessor, reset, 64);
AT(loupe_preprocessor, save_state, 72);
AT(loupe_preprocessor, merge_state, 80);

SIZE(loupe_tag, 80);
AT(loupe_tag, struct_size, 0);
AT(loupe_tag, type, 4);
AT(loupe_tag, flags, 8);
AT(loupe_tag, reserved, 12);
AT(loupe_tag, id, 16);
AT(loupe_tag, title, 24);
AT(loupe_tag, unit, 32);
AT(loupe_tag, description, 40);
AT(loupe_tag, healthy, 48);
AT(loupe_tag, advice, 56);
AT(loupe_tag, y_minimum, 64);
AT(loupe_tag, y_maximum, 72);

SIZE(loupe_value, 56);
AT(loupe_value, struct_size, 0);
AT(loupe_value, flags, 4);
AT(loupe_value, tag, 8);
AT(loupe_value, layer, 16);
AT(loupe_value, module, 24);
AT(loupe_value, line, 32);
AT(loupe_value, value, 40);
AT(loupe_value, events, 48);

SIZE(loupe_range, 72);
AT(loupe_range, struct_size, 0);
AT(loupe_range, flags, 4);
AT(loupe_range, tag, 8);
AT(loupe_range, layer, 16);
AT(loupe_range, module, 24);
AT(loupe_range, low_name, 32);
AT(loupe_range, high_name, 40);
AT(loupe_range, low, 48);
AT(loupe_range, high, 56);
AT(loupe_range, events, 64);

SIZE(loupe_histogram, 72);
AT(loupe_histogram, struct_size, 0);
AT(loupe_histogram, flags, 4);
AT(loupe_histogram, tag, 8);
AT(loupe_histogram, layer, 16);
AT(loupe_histogram, module, 24);
AT(loupe_histogram, line, 32);
AT(loupe_histogram, edges, 40);
AT(loupe_histogram, counts, 48);
AT(loupe_histogram, bin_count, 56);
AT(loupe_histogram, events, 64);

SIZE(loupe_finding, 136);
AT(loupe_finding, struct_size, 0);
AT(loupe_finding, severity, 4);
AT(loupe_finding, state, 8);
AT(loupe_finding, reserved, 12);
AT(loupe_finding, rule, 16);
AT(loupe_finding, module, 24);
AT(loupe_finding, layer, 32);
AT(loupe_finding, parameter, 40);
AT(loupe_finding, message, 48);
AT(loupe_finding, advice, 56);
AT(loupe_finding, tag, 64);
AT(loupe_finding, source, 72);
AT(loupe_finding, value, 80);
AT(loupe_finding, threshold, 88);
AT(loupe_finding, first_step, 96);
AT(loupe_finding, last_step, 104);
AT(loupe_finding, first_epoch, 112);
AT(loupe_finding, last_epoch, 120);
AT(loupe_finding, count, 128);

SIZE(loupe_note, 40);
AT(loupe_note, struct_size, 0);
AT(loupe_note, kind, 4);
AT(loupe_note, text, 8);
AT(loupe_note, step, 16);
AT(loupe_note, epoch, 24);
AT(loupe_note, time, 32);

SIZE(loupe_run, 88);
AT(loupe_run, struct_size, 0);
AT(loupe_run, flags, 4);
AT(loupe_run, name, 8);
AT(loupe_run, directory, 16);
AT(loupe_run, config, 24);
AT(loupe_run, loupe_version, 32);
AT(loupe_run, libtorch_version, 40);
AT(loupe_run, started, 48);
AT(loupe_run, start_time, 56);
AT(loupe_run, rank, 64);
AT(loupe_run, world_size, 68);
AT(loupe_run, train_loss, 72);
AT(loupe_run, validation_loss, 80);

SIZE(loupe_run_service, 16);
AT(loupe_run_service, struct_size, 0);
AT(loupe_run_service, reserved, 4);
AT(loupe_run_service, run, 8);

SIZE(loupe_progress, 56);
AT(loupe_progress, struct_size, 0);
AT(loupe_progress, reserved, 4);
AT(loupe_progress, epoch, 8);
AT(loupe_progress, epochs, 16);
AT(loupe_progress, step, 24);
AT(loupe_progress, steps, 32);
AT(loupe_progress, steps_before, 40);
AT(loupe_progress, seconds, 48);

SIZE(loupe_ending, 48);
AT(loupe_ending, struct_size, 0);
AT(loupe_ending, how, 4);
AT(loupe_ending, step, 8);
AT(loupe_ending, epoch, 16);
AT(loupe_ending, time, 24);
AT(loupe_ending, elapsed, 32);
AT(loupe_ending, message, 40);

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

SIZE(loupe_wiring, 64);
AT(loupe_wiring, struct_size, 0);
AT(loupe_wiring, reserved, 4);
AT(loupe_wiring, context, 8);
AT(loupe_wiring, watch, 16);
AT(loupe_wiring, series_count, 24);
AT(loupe_wiring, series_name, 32);
AT(loupe_wiring, aggregate, 40);
AT(loupe_wiring, values, 48);
AT(loupe_wiring, get_extension, 56);

SIZE(loupe_sink, 56);
AT(loupe_sink, struct_size, 0);
AT(loupe_sink, reserved, 4);
AT(loupe_sink, context, 8);
AT(loupe_sink, tag, 16);
AT(loupe_sink, value, 24);
AT(loupe_sink, range, 32);
AT(loupe_sink, histogram, 40);
AT(loupe_sink, finding, 48);

SIZE(loupe_lens, 72);
AT(loupe_lens, struct_size, 0);
AT(loupe_lens, reserved, 4);
AT(loupe_lens, get_extension, 8);
AT(loupe_lens, attach, 16);
AT(loupe_lens, visit, 24);
AT(loupe_lens, forget, 32);
AT(loupe_lens, step, 40);
AT(loupe_lens, introduce, 48);
AT(loupe_lens, report, 56);
AT(loupe_lens, query, 64);

SIZE(loupe_visualizer, 128);
AT(loupe_visualizer, struct_size, 0);
AT(loupe_visualizer, reserved, 4);
AT(loupe_visualizer, get_extension, 8);
AT(loupe_visualizer, begin, 16);
AT(loupe_visualizer, tag, 24);
AT(loupe_visualizer, begin_tick, 32);
AT(loupe_visualizer, value, 40);
AT(loupe_visualizer, range, 48);
AT(loupe_visualizer, histogram, 56);
AT(loupe_visualizer, end_tick, 64);
AT(loupe_visualizer, flush, 72);
AT(loupe_visualizer, progress, 80);
AT(loupe_visualizer, finding, 88);
AT(loupe_visualizer, note, 96);
AT(loupe_visualizer, model, 104);
AT(loupe_visualizer, hyperparameter, 112);
AT(loupe_visualizer, end, 120);
