#include "check/fixtures.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace loupe::check {
namespace {

constexpr double start_time = 1.7e9;

std::vector<int64_t> strides_of(const Data& data) {
  if (!data.strides.empty()) return data.strides;
  std::vector<int64_t> strides(data.sizes.size());
  int64_t next = 1;
  for (std::size_t d = strides.size(); d-- > 0; next *= data.sizes[d]) strides[d] = next;
  return strides;
}

template <class T>
const void* fill(LentMemory& memory, std::size_t bytes, T element) {
  return memory.elements(bytes, [&](void* data) { std::fill_n(static_cast<T*>(data), bytes / sizeof(T), element); });
}

const loupe_optimizer* lend_optimizer(LentMemory& memory) {
  const loupe_option_value* momentum =
      memory.lend(loupe_option_value{.type = LOUPE_TYPE_NUMBER, .name = memory.text("momentum"), .number = 0.9});
  const loupe_options* settings =
      memory.lend(loupe_options{.values = memory.array(std::vector{momentum}), .value_count = 1});
  const loupe_parameter_group* group = memory.lend(loupe_parameter_group{.flags = LOUPE_GROUP_HAS_LEARNING_RATE,
                                                                         .learning_rate = 0.1,
                                                                         .tensor_count = 2,
                                                                         .element_count = 16,
                                                                         .settings = settings});
  return memory.lend(loupe_optimizer{.id = 1,
                                     .model_name = memory.text(""),
                                     .type = memory.text("SGD"),
                                     .groups = memory.array(std::vector{group}),
                                     .group_count = 1});
}

}  // namespace

int64_t Data::numel() const {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

std::string Data::text() const {
  std::string text = "dtype " + std::to_string(code) + " of " + std::to_string(bits) + " bits";
  if (lanes != 1) text += " and " + std::to_string(lanes) + " lanes";
  text += ", sizes [";
  for (std::size_t d = 0; d < sizes.size(); ++d) text += (d > 0 ? ", " : "") + std::to_string(sizes[d]);
  text += "], elements " + std::to_string(element);
  if (!strides.empty()) text += ", with gaps";
  if (device != LOUPE_DEVICE_CPU) text += ", on device type " + std::to_string(device);
  if (!has_tensor) text += ", without a tensor";
  if (!has_measurement) text += ", without a measurement";
  return text;
}

Network lend_network(LentMemory& memory) {
  const auto parameter = [&](const char* name, uint32_t flags, std::vector<int64_t> sizes) {
    const int64_t numel = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
    const auto dim = static_cast<int64_t>(sizes.size());
    return memory.lend(loupe_parameter{
        .flags = flags, .name = memory.text(name), .dim = dim, .numel = numel, .sizes = memory.array(sizes)});
  };
  Network network;
  network.model = memory.place<loupe_model>();
  const auto add = [&](const char* path, const char* type, uint32_t family, uint32_t flags,
                       const std::vector<const loupe_parameter*>& parameters, const loupe_module* parent) {
    const std::string full_type = std::string("torch::nn::") + type + "Impl";
    const bool is_loss = (flags & LOUPE_MODULE_LOSS) != 0;
    network.modules.push_back(memory.lend(loupe_module{.flags = flags | LOUPE_MODULE_TAPPED,
                                                       .id = network.modules.size() + 1,
                                                       .family = family,
                                                       .name = memory.text(*path != 0 ? path : "model"),
                                                       .path = memory.text(path),
                                                       .parent = parent,
                                                       .model = is_loss ? nullptr : network.model,
                                                       .type = memory.text(type),
                                                       .full_type = memory.text(full_type),
                                                       .parameters = memory.array(parameters),
                                                       .parameter_count = parameters.size(),
                                                       .settings = memory.text("in_features=3")}));
  };
  constexpr uint32_t trained = LOUPE_PARAMETER_TRAINABLE | LOUPE_PARAMETER_OPTIMIZED;
  add("", "Sequential", LOUPE_FAMILY_OTHER, LOUPE_MODULE_ROOT, {}, nullptr);
  const loupe_module* root = network.modules[0];
  add("0", "Linear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF,
      {parameter("weight", trained, {4, 3}), parameter("bias", trained, {4})}, root);
  add("1", "BatchNorm2d", LOUPE_FAMILY_NORMALIZATION, LOUPE_MODULE_LEAF,
      {parameter("weight", trained, {4}), parameter("running_mean", LOUPE_PARAMETER_BUFFER, {4}),
       parameter("num_batches_tracked", LOUPE_PARAMETER_BUFFER, {})},
      root);
  add("2", "ReLU", LOUPE_FAMILY_ACTIVATION, LOUPE_MODULE_LEAF, {}, root);
  const loupe_module* relu = network.modules.back();
  add("3", "Conv2d", LOUPE_FAMILY_CONVOLUTION, LOUPE_MODULE_LEAF, {parameter("weight", trained, {2, 1, 3, 3})}, root);
  add("4", "Softmax", LOUPE_FAMILY_ACTIVATION, LOUPE_MODULE_LEAF, {}, root);
  add("5", "Embedding", LOUPE_FAMILY_EMBEDDING, LOUPE_MODULE_LEAF, {parameter("weight", trained, {10, 4})}, root);
  add("6", "LSTM", LOUPE_FAMILY_RECURRENT, LOUPE_MODULE_LEAF,
      {parameter("weight_ih_l0", trained, {16, 4}), parameter("weight_hh_l0", trained, {16, 4}),
       parameter("bias_ih_l0", trained, {16}), parameter("bias_hh_l0", trained, {16})},
      root);
  add("7", "MultiheadAttention", LOUPE_FAMILY_ATTENTION, 0,
      {parameter("in_proj_weight", trained, {12, 4}), parameter("in_proj_bias", trained, {12})}, root);
  const loupe_module* attention = network.modules.back();
  add("7.out_proj", "NonDynamicallyQuantizableLinear", LOUPE_FAMILY_LINEAR, LOUPE_MODULE_LEAF,
      {parameter("weight", trained, {4, 4}), parameter("bias", trained, {4})}, attention);
  const std::vector<const loupe_module*> registered = network.modules;
  add("2:tanh", "tanh", LOUPE_FAMILY_ACTIVATION, LOUPE_MODULE_LEAF | LOUPE_MODULE_FUNCTIONAL, {}, relu);
  add("loss", "CrossEntropyLoss", LOUPE_FAMILY_LOSS, LOUPE_MODULE_LEAF | LOUPE_MODULE_LOSS, {}, nullptr);
  memory.settle(network.model, loupe_model{.name = memory.text("model"),
                                           .type = memory.text("torch::nn::SequentialImpl"),
                                           .parameter_element_count = 318,
                                           .modules = memory.array(registered),
                                           .module_count = registered.size(),
                                           .own_name = memory.text("")});
  return network;
}

const loupe_tensor* lend_tensor(LentMemory& memory, const Data& data) {
  const std::vector<int64_t> strides = strides_of(data);
  const int64_t numel = data.numel();
  int64_t reach = numel > 0 ? 1 : 0;
  for (std::size_t d = 0; numel > 0 && d < strides.size(); ++d) reach += (data.sizes[d] - 1) * strides[d];
  const std::size_t bytes = (static_cast<std::size_t>(reach) * data.bits * data.lanes + 7) / 8;
  const void* elements = nullptr;
  if (data.device != LOUPE_DEVICE_CPU) {
    elements = LentMemory::out_of_reach();
  } else if (data.code == LOUPE_DTYPE_FLOAT && data.bits == 32) {
    elements = fill(memory, bytes, static_cast<float>(data.element));
  } else if (data.code == LOUPE_DTYPE_FLOAT && data.bits == 64) {
    elements = fill(memory, bytes, data.element);
  } else if (bytes > 0) {
    elements = fill(memory, bytes, uint8_t{1});
  }
  loupe_tensor view{.dtype_code = data.code,
                    .dtype_bits = data.bits,
                    .dtype_lanes = data.lanes,
                    .device_type = data.device,
                    .data = numel > 0 ? elements : nullptr,
                    .sizes = memory.array(data.sizes),
                    .strides = memory.array(strides),
                    .dim = static_cast<int64_t>(data.sizes.size()),
                    .numel = numel};
  memory.add_native_tensor(view);
  return memory.lend(view);
}

/// Overwrites the members that belong to none of the requested measures.
void hide_unasked(loupe_measurement& measured, uint32_t measures, double unasked) {
  const auto hide = [&](uint32_t measure, std::initializer_list<double*> numbers,
                        std::initializer_list<int64_t*> counts) {
    if ((measures & measure) != 0) return;
    for (double* number : numbers) *number = unasked;
    for (int64_t* count : counts) *count = static_cast<int64_t>(unasked);
  };
  hide(LOUPE_MEASURE_SUMS | LOUPE_MEASURE_PREVIOUS, {&measured.sum, &measured.sum_squares}, {});
  hide(LOUPE_MEASURE_EXTREMES, {&measured.minimum, &measured.maximum}, {});
  hide(LOUPE_MEASURE_ACTIVITY, {}, {&measured.active_count, &measured.unit_count, &measured.dead_unit_count});
  hide(LOUPE_MEASURE_SAMPLES, {&measured.sample_norm_sum}, {&measured.sample_count});
  hide(LOUPE_MEASURE_PREVIOUS, {&measured.dot_previous, &measured.previous_sum_squares}, {});
  hide(LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_CHANGE_PREVIOUS, {&measured.change_sum_squares}, {});
  hide(LOUPE_MEASURE_CHANGE_PREVIOUS, {&measured.dot_change, &measured.previous_change_sum_squares}, {});
}

const loupe_measurement* lend_measurement(LentMemory& memory, const Data& data, uint32_t measures) {
  loupe_measurement measured{};
  const int64_t numel = data.numel();
  measured.measures = measures;
  measured.numel = numel;
  measured.nan_count = std::isnan(data.element) ? numel : 0;
  measured.inf_count = std::isinf(data.element) ? numel : 0;
  const double finite = std::isfinite(data.element) ? data.element : 0;
  const auto count = static_cast<double>(numel);
  measured.sum = finite * count;
  measured.sum_squares = measured.previous_sum_squares = measured.dot_previous = finite * finite * count;
  measured.minimum = measured.maximum = numel > 0 ? finite : NAN;
  measured.active_count = data.element != 0 ? numel : 0;
  measured.unit_count = data.sizes.size() > 1 ? data.sizes[1] : 1;
  measured.sample_count = data.sizes.empty() ? 1 : data.sizes[0];
  measured.sample_norm_sum = std::abs(finite) * count;
  measured.flags = LOUPE_MEASUREMENT_HAS_PREVIOUS | LOUPE_MEASUREMENT_HAS_CHANGE;
  measured.change_sum_squares = measured.previous_change_sum_squares = measured.dot_change = finite * finite;
  hide_unasked(measured, measures, data.unasked);
  if ((measures & LOUPE_MEASURE_HISTOGRAM) != 0) {
    constexpr double unbounded = std::numeric_limits<double>::infinity();
    measured.bins = memory.array(std::vector<uint64_t>{1, 2, 0, static_cast<uint64_t>(numel), 1});
    measured.bin_edges = memory.array(std::vector{-unbounded, -1.0, -1e-300, 1e-300, 1.0, unbounded});
    measured.bin_count = 5;
  }
  return memory.lend(measured);
}

const loupe_event* lend_event(LentMemory& memory, const Data& data, const loupe_module* module, const char* label,
                              uint64_t number, uint32_t measures) {
  loupe_event event{};
  event.tap = module == nullptr ? LOUPE_TAP_PUSH : label != nullptr ? LOUPE_TAP_ATTRIBUTE : LOUPE_TAP_FORWARD;
  event.flags = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED | LOUPE_EVENT_LOSS;
  event.module = module;
  event.label = label != nullptr ? memory.text(label) : nullptr;
  event.scalar = data.element;
  event.number = event.step = number;
  if (data.has_tensor) {
    event.tensor = lend_tensor(memory, data);
    event.inputs = event.outputs = memory.array(std::vector{event.tensor});
    event.input_count = event.output_count = 1;
  }
  if (data.has_measurement && measures != 0) event.measurement = lend_measurement(memory, data, measures);
  return memory.lend(event);
}

const loupe_options* lend_options(LentMemory& memory, const loupe_options& options) {
  std::vector<const loupe_option_value*> values;
  for (std::size_t i = 0; i < options.value_count; ++i) {
    loupe_option_value value = *options.values[i];
    value.name = memory.text(value.name);
    if (value.string != nullptr) value.string = memory.text(value.string);
    std::vector<const char*> strings;
    for (std::size_t s = 0; s < value.string_count; ++s) strings.push_back(memory.text(value.strings[s]));
    value.strings = memory.array(strings);
    if (value.map != nullptr) value.map = lend_options(memory, *value.map);
    values.push_back(memory.lend(value));
  }
  return memory.lend(loupe_options{.values = memory.array(values), .value_count = values.size()});
}

const loupe_run* lend_run(LentMemory& memory, const std::string& directory) {
  const loupe_option_value* setting = memory.lend(loupe_option_value{
      .type = LOUPE_TYPE_STRING, .name = memory.text("run.tick.steps"), .string = memory.text("10")});
  return memory.lend(
      loupe_run{.name = memory.text("check"),
                .directory = memory.text(directory),
                .config = memory.text("run: {tick: {steps: 10}}\nlenses: [output_norm]\n"),
                .loupe_version = memory.text("0.0.0"),
                .framework_version = memory.text(""),
                .started = memory.text("2026-01-01T00:00:00Z"),
                .start_time = start_time,
                .world_size = 1,
                .train_loss = memory.text("train_loss"),
                .validation_loss = memory.text("val_loss"),
                .settings = memory.lend(loupe_options{.values = memory.array(std::vector{setting}), .value_count = 1}),
                .lenses = memory.array(std::vector<const char*>{memory.text("output_norm")}),
                .lens_count = 1,
                .framework = memory.text("")});
}

const loupe_tick* lend_tick(LentMemory& memory, uint64_t number) {
  const auto epoch = static_cast<double>(number);
  return memory.lend(loupe_tick{.reason = LOUPE_TICK_EPOCH,
                                .number = number,
                                .at = {number * 10, epoch, start_time + epoch, epoch},
                                .optimizers = memory.array(std::vector{lend_optimizer(memory)}),
                                .optimizer_count = 1,
                                .steps = 10,
                                .measured_steps = 5});
}

const loupe_step* lend_step(LentMemory& memory, uint64_t number) {
  const auto seconds = static_cast<double>(number);
  return memory.lend(loupe_step{.flags = number % 2 != 0 ? uint32_t{LOUPE_STEP_MEASURED} : 0,
                                .at = {number, 0, start_time + seconds, seconds},
                                .epochs = 10,
                                .optimizer = lend_optimizer(memory)});
}

const loupe_tag* lend_tag(LentMemory& memory, const std::string& id, bool big) {
  return memory.lend(loupe_tag{.type = LOUPE_SCALE_NUMERICAL,
                               .flags = big ? uint32_t{LOUPE_TAG_BIG} : 0u,
                               .id = memory.text(id),
                               .title = memory.text(id + " of the check"),
                               .unit = memory.text("s"),
                               .description = memory.text("What it is."),
                               .healthy = memory.text("What is healthy."),
                               .advice = memory.text("What to do.")});
}

const loupe_row* lend_row(LentMemory& memory, const std::string& tag, const char* layer,
                          const std::vector<std::pair<const char*, double>>& values, std::optional<double> reach) {
  std::vector<const char*> names, ends;
  std::vector<double> numbers, bands;
  for (const auto& [name, value] : values) {
    names.push_back(memory.text(name));
    numbers.push_back(value);
  }
  if (reach) {
    ends = {memory.text("min"), memory.text("max")};
    bands = {-*reach, *reach};
  }
  return memory.lend(loupe_row{.tag = memory.text(tag),
                               .layer = layer != nullptr ? memory.text(layer) : nullptr,
                               .events = 7,
                               .value_count = numbers.size(),
                               .value_names = memory.array(names),
                               .values = memory.array(numbers),
                               .band_count = bands.size() / 2,
                               .band_names = memory.array(ends),
                               .bands = memory.array(bands)});
}

const loupe_histogram* lend_histogram(LentMemory& memory, const std::string& tag, std::size_t bins, double count) {
  constexpr double unbounded = std::numeric_limits<double>::infinity();
  std::vector<double> edges{-unbounded};
  for (std::size_t i = 1; i < bins; ++i) edges.push_back(static_cast<double>(i));
  if (bins > 0) edges.push_back(unbounded);
  return memory.lend(loupe_histogram{.tag = memory.text(tag),
                                     .layer = memory.text("0"),
                                     .line = memory.text("values"),
                                     .edges = memory.array(edges),
                                     .counts = memory.array(std::vector<double>(bins, count)),
                                     .bin_count = bins,
                                     .events = 3});
}

const loupe_finding* lend_finding(LentMemory& memory, const loupe_module* module) {
  return memory.lend(loupe_finding{.severity = LOUPE_SEVERITY_WARNING,
                                   .flags = LOUPE_FINDING_HAS_VALUE,
                                   .state = LOUPE_FINDING_RAISED,
                                   .id = 7,
                                   .rule = memory.text("made_up"),
                                   .module = module,
                                   .layer = memory.text("0"),
                                   .parameter = memory.text("weight"),
                                   .message = memory.text("Nothing is wrong."),
                                   .advice = memory.text("Do nothing."),
                                   .tag = memory.text("Norm"),
                                   .source = memory.text("the check"),
                                   .caused_by = memory.text("made_up_too"),
                                   .file = memory.text("train.cpp"),
                                   .line = 12,
                                   .value = 0.5,
                                   .first_step = 1,
                                   .last_step = 2,
                                   .last_epoch = 1,
                                   .count = 1});
}

const loupe_option_value* lend_hyperparameter(LentMemory& memory, uint32_t type) {
  loupe_option_value value{};
  value.type = type;
  value.name = memory.text("learning_rate " + std::to_string(type));
  value.integer = 1;
  value.number = type == LOUPE_TYPE_NUMBER ? 0.1 : 1;
  value.string = memory.text("a text");
  value.strings = memory.array(std::vector<const char*>{memory.text("one"), memory.text("two")});
  value.string_count = 2;
  return memory.lend(value);
}

}  // namespace loupe::check
