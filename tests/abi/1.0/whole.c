/* A component of each kind in plain C, which together use all that ABI 1.0 has: every function of the host's, tap,
 * measure and type of option, every gatherer and preprocessor that comes with Loupe, and states that are saved. */
#include <loupe/abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static loupe_status fail(loupe_error* error, loupe_status status, const char* message) {
  if (error != NULL && LOUPE_OFFERS(*error, message) && error->capacity > 0) {
    strncpy(error->message, message, error->capacity - 1);
    error->message[error->capacity - 1] = '\0';
  }
  return status;
}
static loupe_status lacking(loupe_error* error) {
  return fail(error, LOUPE_INVALID, "the host lacks what ABI 1.0 has");
}
static const char* text(const char* text) {
  return text != NULL ? text : "-";
}
/* The other side's struct as far as its size reaches, and zeros behind that. */
static void take(void* into, size_t size, const void* from) {
  uint32_t told = 0;
  memset(into, 0, size);
  if (from == NULL) return;
  memcpy(&told, from, sizeof told);
  memcpy(into, from, told < size ? told / 8 * 8 : size);
}
#define TAKE(TYPE, NAME, FROM) \
  TYPE NAME;                   \
  take(&NAME, sizeof NAME, FROM)
/* Writes what the host asked for as far as its size reaches. */
static void give(void* into, const void* from, size_t size) {
  uint32_t told = 0;
  memcpy(&told, into, sizeof told);
  if (told > sizeof told)
    memcpy((char*)into + sizeof told, (const char*)from + sizeof told, (told < size ? told : size) - sizeof told);
}
#define OR_RETURN(CALL)                                    \
  do {                                                     \
    const loupe_status status_of_call = CALL;              \
    if (status_of_call != LOUPE_OK) return status_of_call; \
  } while (0)
#define UNKNOWN_ID "loupe.nothing/1"

/* The value of an option by its name; zero where there is none. */
static loupe_option_value option_of(const loupe_options* options, const char* name) {
  TAKE(loupe_options, given, options);
  for (size_t i = 0; i < given.value_count; ++i) {
    TAKE(loupe_option_value, value, given.values[i]);
    if (strcmp(text(value.name), name) == 0) return value;
  }
  return (loupe_option_value){.struct_size = sizeof(loupe_option_value)};
}

/* The gatherer c_tap hands on what one tap tells. */
typedef struct tap {
  const loupe_taps* taps;
  int64_t tap, index;
} tap;

static loupe_status create_tap(const loupe_component* component, const loupe_host* host, const loupe_options* options,
                               void** self, loupe_error* error) {
  tap* me = calloc(1, sizeof *me);
  (void)component, (void)host;
  if (me == NULL) return fail(error, LOUPE_FAILED, "no memory");
  me->tap = option_of(options, "tap").integer;
  me->index = option_of(options, "index").integer;
  *self = me;
  return LOUPE_OK;
}
static void destroy(void* self) {
  free(self);
}
static loupe_status open_tap(void* self, const loupe_taps* taps, const loupe_module* module, const char* label,
                             loupe_error* error) {
  tap* me = self;
  const loupe_subscription wanted = {
      .struct_size = sizeof wanted, .tap = (uint32_t)me->tap, .label = label, .index = (uint32_t)me->index};
  (void)module;
  if (!LOUPE_OFFERS(*taps, get_extension)) return lacking(error);
  me->taps = taps;
  if (taps->get_extension(taps->context, UNKNOWN_ID) != NULL)
    return fail(error, LOUPE_FAILED, "taps offer what nobody knows");
  return taps->subscribe(taps->context, &wanted, error);
}
static loupe_status take_event(void* self, const loupe_event* event, loupe_error* error) {
  const loupe_taps* taps = ((tap*)self)->taps;
  return taps->emit(taps->context, event, error);
}
static const loupe_gatherer tap_table = {.struct_size = sizeof(loupe_gatherer), .open = open_tap, .event = take_event};

/* The preprocessor c_measures asks for all that is measured, and reads each tensor in three more ways. */
enum {
  SUM,
  SQUARES,
  LEAST,
  MOST,
  ACTIVE,
  DEAD,
  NORMS,
  DOT,
  CHANGE,
  DOT_CHANGE,
  BINNED,
  COPIED,
  RETAINED,
  CLONED,
  SERIES_COUNT
};
static const char* const series_names[SERIES_COUNT] = {"sum",    "squares", "least",    "most",   "active",
                                                       "dead",   "norms",   "dot",      "change", "dot_change",
                                                       "binned", "copied",  "retained", "cloned"};
typedef struct folded {
  double sum, least, most, last;
  uint64_t count;
} folded;
typedef struct measures {
  folded series[SERIES_COUNT]; /* what is saved */
  const loupe_host* host;
  const loupe_tensor_service* tensors;
} measures;

static loupe_status create_measures(const loupe_component* component, const loupe_host* host,
                                    const loupe_options* options, void** self, loupe_error* error) {
  (void)component, (void)options;
  if (!LOUPE_OFFERS(*host, get_extension)) return lacking(error);
  measures* me = calloc(1, sizeof *me);
  if (me == NULL) return fail(error, LOUPE_FAILED, "no memory");
  me->host = host;
  me->tensors = host->get_extension(host->context, LOUPE_TENSORS_ID);
  *self = me;
  return LOUPE_OK;
}
static loupe_status request_all(void* self, loupe_request* request, loupe_error* error) {
  TAKE(loupe_request, wanted, request);
  (void)self, (void)error;
  wanted.flags = LOUPE_REQUEST_TENSORS | LOUPE_REQUEST_UNITS;
  wanted.measures = LOUPE_MEASURE_SUMS | LOUPE_MEASURE_EXTREMES | LOUPE_MEASURE_ACTIVITY | LOUPE_MEASURE_SAMPLES |
                    LOUPE_MEASURE_PREVIOUS | LOUPE_MEASURE_CHANGE | LOUPE_MEASURE_CHANGE_PREVIOUS |
                    LOUPE_MEASURE_HISTOGRAM;
  wanted.passes = LOUPE_PASS_BOTH;
  wanted.places = LOUPE_PLACE_BOTH;
  wanted.unit_dimension = 1;
  wanted.eps = 0.5;
  give(request, &wanted, sizeof wanted);
  return LOUPE_OK;
}
static void fold(measures* me, int series, double value) {
  folded* to = &me->series[series];
  to->last = value;
  if (value - value != 0) return; /* NaN and infinities, which this does not count */
  to->least = to->count == 0 || value < to->least ? value : to->least;
  to->most = to->count == 0 || value > to->most ? value : to->most;
  to->sum += value;
  ++to->count;
}
static loupe_status sum_of(const measures* me, const loupe_tensor* tensor, double* sum, loupe_error* error) {
  double values[16];
  size_t count = 0;
  OR_RETURN(me->tensors->copy(me->host->context, tensor, values, 16, &count, error));
  *sum = 0;
  for (size_t i = 0; i < count && i < 16; ++i) *sum += values[i];
  return LOUPE_OK;
}
static loupe_status fold_handle(measures* me, int series, loupe_retained* kept, loupe_error* error) {
  double sum = 0;
  const loupe_status status = sum_of(me, me->tensors->view(me->host->context, kept), &sum, error);
  me->tensors->release(me->host->context, kept);
  if (status == LOUPE_OK) fold(me, series, sum);
  return status;
}
static loupe_status process(void* self, const loupe_event* event, loupe_error* error) {
  measures* me = self;
  double sum = 0;
  loupe_retained* kept = NULL;
  TAKE(loupe_event, told, event);
  TAKE(loupe_measurement, found, told.measurement);
  if (told.tap == LOUPE_TAP_PUSH) fold(me, SUM, told.scalar);
  if ((found.measures & LOUPE_MEASURE_SUMS) != 0) fold(me, SUM, found.sum), fold(me, SQUARES, found.sum_squares);
  if ((found.measures & LOUPE_MEASURE_EXTREMES) != 0) fold(me, LEAST, found.minimum), fold(me, MOST, found.maximum);
  if ((found.measures & LOUPE_MEASURE_ACTIVITY) != 0)
    fold(me, ACTIVE, (double)found.active_count), fold(me, DEAD, (double)found.dead_unit_count);
  if ((found.measures & LOUPE_MEASURE_SAMPLES) != 0) fold(me, NORMS, found.sample_norm_sum);
  if ((found.flags & LOUPE_MEASUREMENT_HAS_PREVIOUS) != 0) fold(me, DOT, found.dot_previous);
  if ((found.flags & LOUPE_MEASUREMENT_HAS_CHANGE) != 0)
    fold(me, CHANGE, found.change_sum_squares), fold(me, DOT_CHANGE, found.dot_change);
  if ((found.measures & LOUPE_MEASURE_HISTOGRAM) != 0) {
    uint64_t binned = 0;
    for (size_t i = 0; found.bins != NULL && i < found.bin_count; ++i) binned += found.bins[i];
    fold(me, BINNED, (double)binned);
  }
  if (told.tensor == NULL || !LOUPE_REACHES(*told.tensor, native_library) || me->tensors == NULL) return LOUPE_OK;
  OR_RETURN(sum_of(me, told.tensor, &sum, error));
  fold(me, COPIED, sum);
  OR_RETURN(me->tensors->retain(me->host->context, told.tensor, &kept, error));
  OR_RETURN(fold_handle(me, RETAINED, kept, error));
  OR_RETURN(me->tensors->clone(me->host->context, told.tensor, &kept, error));
  return fold_handle(me, CLONED, kept, error);
}
static size_t count_series(void* self) {
  (void)self;
  return SERIES_COUNT;
}
static loupe_status read_series(void* self, size_t index, loupe_series* row, loupe_error* error) {
  if (index >= SERIES_COUNT) return fail(error, LOUPE_NOT_FOUND, "there is no such series");
  const folded* from = &((measures*)self)->series[index];
  const loupe_series series = {.name = series_names[index],
                               .count = from->count,
                               .sum = from->sum,
                               .mean = from->count > 0 ? from->sum / (double)from->count : 0,
                               .minimum = from->least,
                               .maximum = from->most,
                               .last = from->last};
  give(row, &series, sizeof series);
  return LOUPE_OK;
}
static loupe_status reset(void* self, loupe_error* error) {
  (void)error;
  memset(((measures*)self)->series, 0, sizeof(folded[SERIES_COUNT]));
  return LOUPE_OK;
}
static loupe_status save(void* self, loupe_write write, void* writer, loupe_error* error) {
  return write(writer, ((measures*)self)->series, sizeof(folded[SERIES_COUNT]), error);
}
static loupe_status merge(void* self, const void* bytes, size_t size, loupe_error* error) {
  folded other[SERIES_COUNT];
  if (size != sizeof other) return fail(error, LOUPE_INVALID, "these are no measures");
  memcpy(other, bytes, size);
  for (size_t i = 0; i < SERIES_COUNT; ++i) {
    folded* to = &((measures*)self)->series[i];
    if (other[i].count == 0) continue;
    to->least = to->count == 0 || other[i].least < to->least ? other[i].least : to->least;
    to->most = to->count == 0 || other[i].most > to->most ? other[i].most : to->most;
    to->last = other[i].last;
    to->sum += other[i].sum;
    to->count += other[i].count;
  }
  return LOUPE_OK;
}
static const loupe_preprocessor measures_table = {.struct_size = sizeof(loupe_preprocessor),
                                                  .request = request_all,
                                                  .process = process,
                                                  .series_count = count_series,
                                                  .read = read_series,
                                                  .reset = reset,
                                                  .save_state = save,
                                                  .merge_state = merge};

/* The lens c_whole watches the module `watched` and what is pushed, in every way that there is. */
typedef struct stream {
  const char *shown, *gatherer, *label, *preprocessor, *option; /* option: of the preprocessor, set to `set` */
  int64_t number, set;                                          /* number: the tap of c_tap, or the output */
} stream;
static const stream streams[] = {
    {"tap 1", "c_tap", NULL, "c_measures", NULL, LOUPE_TAP_FORWARD_BEFORE, 0},
    {"tap 2", "c_tap", NULL, "c_measures", NULL, LOUPE_TAP_FORWARD, 0},
    {"tap 3", "c_tap", NULL, "c_measures", NULL, LOUPE_TAP_OUTPUT_GRADIENT, 0},
    {"tap 4", "c_tap", NULL, "c_measures", NULL, LOUPE_TAP_INPUT_GRADIENT, 0},
    {"tap 5", "c_tap", "weight", "c_measures", NULL, LOUPE_TAP_PARAMETER_GRADIENT, 0},
    {"tap 6", "c_tap", "weight", "c_measures", NULL, LOUPE_TAP_STEP_GRADIENT, 0},
    {"tap 7", "c_tap", "weight", "c_measures", NULL, LOUPE_TAP_OPTIMIZER_STEP, 0},
    {"tap 8", "c_tap", "weight", "c_measures", NULL, LOUPE_TAP_TICK, 0},
    {"tap 10", "c_tap", "state", "c_measures", NULL, LOUPE_TAP_ATTRIBUTE_BEFORE, 0},
    {"tap 11", "c_tap", "state", "c_measures", NULL, LOUPE_TAP_ATTRIBUTE, 0},
    {"forward_input", LOUPE_GATHER_FORWARD_INPUT, NULL, "c_measures", NULL, 0, 0},
    {"forward", LOUPE_GATHER_FORWARD, NULL, "c_measures", NULL, 0, 0},
    {"output_gradient", LOUPE_GATHER_OUTPUT_GRADIENT, NULL, "c_measures", NULL, 0, 0},
    {"input_gradient", LOUPE_GATHER_INPUT_GRADIENT, NULL, "c_measures", NULL, 0, 0},
    {"parameter_gradient", LOUPE_GATHER_PARAMETER_GRADIENT, "weight", "c_measures", NULL, 0, 0},
    {"step_gradient", LOUPE_GATHER_STEP_GRADIENT, "weight", "c_measures", NULL, 0, 0},
    {"call_parameter", LOUPE_GATHER_CALL_PARAMETER, "weight", "c_measures", NULL, 0, 0},
    {"optimizer_step", LOUPE_GATHER_OPTIMIZER_STEP, "weight", "c_measures", NULL, 0, 0},
    {"tick", LOUPE_GATHER_TICK, "weight", "c_measures", NULL, 0, 0},
    {"attribute", LOUPE_GATHER_ATTRIBUTE, "state", "c_measures", NULL, 0, 0},
    {"output_norm", LOUPE_GATHER_FORWARD, NULL, LOUPE_PREPROCESS_OUTPUT_NORM, LOUPE_PREPROCESS_OPTION_INPLACE, 0, 0},
    {"parameter_norm", LOUPE_GATHER_TICK, "weight", LOUPE_PREPROCESS_PARAMETER_NORM, NULL, 0, 0},
    {"output_activation", LOUPE_GATHER_FORWARD, NULL, LOUPE_PREPROCESS_OUTPUT_ACTIVATION,
     LOUPE_PREPROCESS_OPTION_QUANTILES, 0, 1},
    {"gradient_activation", LOUPE_GATHER_OUTPUT_GRADIENT, NULL, LOUPE_PREPROCESS_GRADIENT_ACTIVATION, NULL, 0, 0},
    {"gradient_geometry", LOUPE_GATHER_STEP_GRADIENT, "weight", LOUPE_PREPROCESS_GRADIENT_GEOMETRY, NULL, 0, 0},
    {"output_gradient_geometry", LOUPE_GATHER_OUTPUT_GRADIENT, NULL, LOUPE_PREPROCESS_OUTPUT_GRADIENT_GEOMETRY, NULL, 0,
     0},
    {"parameter_difference_geometry", LOUPE_GATHER_OPTIMIZER_STEP, "weight",
     LOUPE_PREPROCESS_PARAMETER_DIFFERENCE_GEOMETRY, NULL, 0, 0},
    {"parameter_condition", LOUPE_GATHER_TICK, "weight", LOUPE_PREPROCESS_PARAMETER_CONDITION, NULL, 0, 0},
    {"loss_module", LOUPE_GATHER_FORWARD, NULL, LOUPE_PREPROCESS_LOSS_MODULE, NULL, 1, 0},
    {"tap 9", "c_tap", NULL, "c_measures", NULL, LOUPE_TAP_PUSH, 0},
    {"push", LOUPE_GATHER_PUSH, NULL, "c_measures", NULL, 0, 0},
    {"explicit_call", LOUPE_GATHER_PUSH, NULL, LOUPE_PREPROCESS_EXPLICIT_CALL, NULL, 0, 0},
};
enum { STREAMS = sizeof streams / sizeof *streams, FIRST_PUSHED = STREAMS - 3 };

typedef struct lens {
  const loupe_host* host;
  const loupe_wiring* wiring;
  const loupe_module* module;
  loupe_source *sources[STREAMS], *own, *rested;
  measures own_measures;
  double options[6];
  uint64_t steps, measured_steps, ticks;
} lens;

static loupe_status create_lens(const loupe_component* component, const loupe_host* host, const loupe_options* options,
                                void** self, loupe_error* error) {
  (void)component;
  if (!LOUPE_OFFERS(*host, get_extension)) return lacking(error);
  lens* me = calloc(1, sizeof *me);
  if (me == NULL) return fail(error, LOUPE_FAILED, "no memory");
  me->host = me->own_measures.host = host;
  me->options[0] = (double)option_of(options, "flag").integer;
  me->options[1] = (double)option_of(options, "count").integer;
  me->options[2] = option_of(options, "share").number;
  me->options[3] = (double)strlen(text(option_of(options, "word").string));
  me->options[4] = (double)option_of(options, "names").string_count;
  me->options[5] = option_of(option_of(options, "map").map, "two").number;
  host->log(host->context, LOUPE_LOG_INFO, "c_whole of ABI 1.0 is made");
  *self = me;
  return LOUPE_OK;
}
static loupe_status watch(lens* me, const stream* wanted, loupe_source** source, loupe_error* error) {
  const int is_tap = strcmp(wanted->gatherer, "c_tap") == 0;
  const loupe_option_value number = {.struct_size = sizeof number,
                                     .type = LOUPE_TYPE_INTEGER,
                                     .name = is_tap ? "tap" : LOUPE_GATHER_OPTION_OUTPUT,
                                     .integer = wanted->number,
                                     .number = (double)wanted->number};
  const loupe_option_value set = {
      .struct_size = sizeof set, .type = LOUPE_TYPE_BOOLEAN, .name = wanted->option, .integer = wanted->set};
  const loupe_option_value *numbers[] = {&number}, *sets[] = {&set};
  const loupe_options gatherer = {.struct_size = sizeof gatherer, .values = numbers, .value_count = 1};
  const loupe_options preprocessor = {.struct_size = sizeof preprocessor, .values = sets, .value_count = 1};
  const loupe_watch watch = {.struct_size = sizeof watch,
                             .module = me->module,
                             .gatherer = wanted->gatherer,
                             .gatherer_options = wanted->number != 0 ? &gatherer : NULL,
                             .label = wanted->label,
                             .preprocessor = wanted->preprocessor,
                             .preprocessor_options = wanted->option != NULL ? &preprocessor : NULL};
  return me->wiring->watch(me->wiring->context, &watch, source, error);
}
static loupe_status attach(void* self, const loupe_wiring* wiring, loupe_error* error) {
  lens* me = self;
  if (!LOUPE_OFFERS(*wiring, get_extension)) return lacking(error);
  me->wiring = wiring;
  if (wiring->get_extension(wiring->context, UNKNOWN_ID) != NULL)
    return fail(error, LOUPE_FAILED, "the wiring offers what nobody knows");
  for (int i = FIRST_PUSHED; i < STREAMS; ++i) OR_RETURN(watch(me, &streams[i], &me->sources[i], error));
  return LOUPE_OK;
}
static loupe_status visit(void* self, const loupe_module* module, loupe_error* error) {
  lens* me = self;
  TAKE(loupe_module, seen, module);
  if (strcmp(text(seen.name), "watched") != 0) return LOUPE_OK;
  if (me->wiring == NULL) return fail(error, LOUPE_FAILED, "the lens is not attached");
  const stream rested = {"rested", LOUPE_GATHER_FORWARD, NULL, "c_measures", NULL, 0, 0};
  const loupe_watch own = {.struct_size = sizeof own,
                           .module = module,
                           .gatherer = LOUPE_GATHER_FORWARD,
                           .own_interface = &measures_table,
                           .own_preprocessor = &me->own_measures};
  me->module = module;
  for (int i = 0; i < FIRST_PUSHED; ++i) OR_RETURN(watch(me, &streams[i], &me->sources[i], error));
  OR_RETURN(watch(me, &rested, &me->rested, error));
  return me->wiring->watch(me->wiring->context, &own, &me->own, error);
}
static void forget(void* self, const loupe_module* module) {
  lens* me = self;
  if (module == me->module) me->module = NULL;
}
/* What is lent is summed up. */
typedef struct lent {
  const loupe_host* host;
  double sum;
} lent;
static void take_lent(void* context, const loupe_tensor* tensor) {
  lent* to = context;
  measures reader = {.host = to->host, .tensors = to->host->get_extension(to->host->context, LOUPE_TENSORS_ID)};
  sum_of(&reader, tensor, &to->sum, NULL);
}
static loupe_status step(void* self, const loupe_step* taken, const loupe_sink* sink, loupe_error* error) {
  lens* me = self;
  const loupe_finding finding = {.struct_size = sizeof finding,
                                 .severity = LOUPE_SEVERITY_INFO,
                                 .rule = "c_first_step",
                                 .message = "the first step was taken",
                                 .count = 1};
  TAKE(loupe_step, told, taken);
  if (!LOUPE_OFFERS(*sink, finding)) return lacking(error);
  me->measured_steps += (told.flags & LOUPE_STEP_MEASURED) != 0;
  return me->steps++ == 0 ? sink->finding(sink->context, &finding, error) : LOUPE_OK;
}
static loupe_status tell(const loupe_sink* sink, const char* layer, uint64_t events, const char* const* names,
                         const double* values, size_t count, loupe_error* error) {
  const loupe_row row = {.struct_size = sizeof row,
                         .tag = "C Whole",
                         .layer = layer,
                         .events = events,
                         .value_count = count,
                         .value_names = names,
                         .values = values};
  return sink->row(sink->context, &row, error);
}
/* All series of a source; `values`: also by the functions for values and quantiles, where the source has them. */
static loupe_status tell_source(const lens* me, const loupe_sink* sink, const char* shown, loupe_source* source,
                                loupe_error* error) {
  const loupe_wiring* wiring = me->wiring;
  const char* names[SERIES_COUNT + 3];
  double numbers[SERIES_COUNT + 3];
  const double q[] = {0, 1};
  double kept[16], quantiles[2];
  size_t count = 0, kept_count = 0;
  uint64_t events = 0;
  for (size_t i = 0; i < wiring->series_count(wiring->context, source) && i < SERIES_COUNT; ++i) {
    loupe_series read = {.struct_size = sizeof read};
    size_t place = SERIES_COUNT;
    OR_RETURN(wiring->read(wiring->context, source, i, &read, error));
    OR_RETURN(wiring->find(wiring->context, source, read.name, &place, error));
    if (place != i) return fail(error, LOUPE_FAILED, "a series has two places");
    if (read.count == 0) continue;
    events = read.count;
    names[count] = read.name;
    numbers[count++] = read.mean;
  }
  if (count > 0 && wiring->values(wiring->context, source, 0, kept, 16, &kept_count, NULL) == LOUPE_OK) {
    names[count] = "kept values";
    numbers[count++] = (double)kept_count;
  }
  if (count > 0 && wiring->quantiles(wiring->context, source, 0, q, 2, quantiles, NULL) == LOUPE_OK) {
    for (int i = 0; i < 2; ++i) names[count] = i == 0 ? "least" : "greatest", numbers[count++] = quantiles[i];
  }
  return count > 0 ? tell(sink, shown, events, names, numbers, count, error) : LOUPE_OK;
}
static loupe_status tell_services(const lens* me, const loupe_sink* sink, loupe_error* error) {
  static const char* const names[] = {"processes", "has lenses", "flags", "sum", "sum of gradient"};
  void* context = me->host->context;
  const loupe_run_service* runs = me->host->get_extension(context, LOUPE_RUN_ID);
  const loupe_parameter_service* parameters = me->host->get_extension(context, LOUPE_PARAMETERS_ID);
  if (me->host->get_extension(context, UNKNOWN_ID) != NULL)
    return fail(error, LOUPE_FAILED, "the host offers what nobody knows");
  TAKE(loupe_run, run, runs != NULL ? runs->run(context) : NULL);
  double numbers[] = {(double)run.world_size, run.lens_count > 0, 0, 0, 0};
  if (me->module != NULL && parameters != NULL) {
    uint32_t flags = 0;
    lent parameter = {.host = me->host}, gradient = {.host = me->host};
    OR_RETURN(parameters->flags(context, me->module, 0, &flags, error));
    OR_RETURN(parameters->lend(context, me->module, "weight", 0, take_lent, &parameter, error));
    OR_RETURN(parameters->lend(context, me->module, "weight", LOUPE_LEND_GRADIENT, take_lent, &gradient, error));
    numbers[2] = flags & ~LOUPE_PARAMETER_DRAFTS, numbers[3] = parameter.sum, numbers[4] = gradient.sum;
  }
  return tell(sink, "services", 0, names, numbers, 5, error);
}
static loupe_status report(void* self, const loupe_tick* tick, const loupe_sink* sink, loupe_error* error) {
  static const char* const option_names[] = {"flag", "count", "share", "word", "names", "map"};
  static const char* const step_names[] = {"taken", "measured"};
  static const char* const ends[] = {"min", "max"};
  static const double edges[] = {0, 1, 2}, counts[] = {3, 1}, band[] = {-1, 1};
  lens* me = self;
  const double steps[] = {(double)me->steps, (double)me->measured_steps};
  const loupe_tag tag = {.struct_size = sizeof tag,
                         .type = LOUPE_SCALE_NUMERICAL,
                         .flags = LOUPE_TAG_ANNOTATE | LOUPE_TAG_HAS_MINIMUM,
                         .id = "C Whole",
                         .unit = "1",
                         .description = "All that ABI 1.0 has."};
  const loupe_histogram histogram = {.struct_size = sizeof histogram,
                                     .tag = tag.id,
                                     .layer = "histogram",
                                     .line = "bins",
                                     .edges = edges,
                                     .counts = counts,
                                     .bin_count = 2,
                                     .events = 4};
  const loupe_row bands = {
      .struct_size = sizeof bands, .tag = tag.id, .layer = "bands", .band_count = 1, .band_names = ends, .bands = band};
  TAKE(loupe_tick, told, tick);
  if (me->wiring == NULL) return fail(error, LOUPE_FAILED, "the lens is not attached");
  if (!LOUPE_OFFERS(*sink, get_extension)) return lacking(error);
  if (sink->get_extension(sink->context, UNKNOWN_ID) != NULL)
    return fail(error, LOUPE_FAILED, "the sink offers what nobody knows");
  OR_RETURN(sink->tag(sink->context, &tag, error));
  OR_RETURN(tell(sink, "options", 0, option_names, me->options, 6, error));
  OR_RETURN(tell(sink, "steps", told.steps, step_names, steps, 2, error));
  OR_RETURN(tell_services(me, sink, error));
  for (int i = me->module != NULL ? 0 : FIRST_PUSHED; i < STREAMS; ++i)
    OR_RETURN(tell_source(me, sink, streams[i].shown, me->sources[i], error));
  OR_RETURN(sink->row(sink->context, &bands, error));
  OR_RETURN(sink->histogram(sink->context, &histogram, error));
  if (me->module == NULL) return LOUPE_OK;
  OR_RETURN(tell_source(me, sink, "own", me->own, error));
  OR_RETURN(tell_source(me, sink, "rested", me->rested, error));
  /* It rests in the second of each two ticks. */
  return me->wiring->rest(me->wiring->context, me->rested, me->ticks++ % 2 == 0 ? LOUPE_REST_EVENTS : 0, error);
}
static const loupe_lens lens_table = {.struct_size = sizeof(loupe_lens),
                                      .attach = attach,
                                      .visit = visit,
                                      .forget = forget,
                                      .step = step,
                                      .report = report};

/* The visualizer c_text writes a line for each message. */
typedef struct shown {
  FILE* file;
  char path[512];
  uint64_t progress;
} shown;

static loupe_status create_text(const loupe_component* component, const loupe_host* host, const loupe_options* options,
                                void** self, loupe_error* error) {
  shown* me = calloc(1, sizeof *me);
  (void)component, (void)host;
  if (me == NULL) return fail(error, LOUPE_FAILED, "no memory");
  snprintf(me->path, sizeof me->path, "%s", text(option_of(options, "path").string));
  *self = me;
  return LOUPE_OK;
}
static void destroy_text(void* self) {
  shown* me = self;
  if (me->file != NULL) fclose(me->file);
  free(me);
}
static loupe_status begin(void* self, const loupe_run* run, loupe_error* error) {
  shown* me = self;
  TAKE(loupe_run, told, run);
  if (me->file != NULL) fclose(me->file);
  me->file = fopen(me->path, "w");
  if (me->file == NULL) return fail(error, LOUPE_FAILED, "the file cannot be written");
  fprintf(me->file, "begin, process %d of %d\n", (int)told.rank, (int)told.world_size);
  return LOUPE_OK;
}
#define SHOW(FUNCTION, TYPE, ...)                                                     \
  static loupe_status FUNCTION(void* self, const TYPE* message, loupe_error* error) { \
    FILE* file = ((shown*)self)->file;                                                \
    TAKE(TYPE, told, message);                                                        \
    if (file == NULL) return fail(error, LOUPE_FAILED, "the run has not begun");      \
    fprintf(file, __VA_ARGS__);                                                       \
    return LOUPE_OK;                                                                  \
  }
SHOW(show_model, loupe_model, "model of %zu modules\n", told.module_count)
SHOW(show_tag, loupe_tag, "tag %s in %s: %s\n", text(told.id), text(told.unit), text(told.description))
SHOW(begin_tick, loupe_tick, "tick %g after %llu steps\n", told.at.epoch, (unsigned long long)told.at.step)
SHOW(show_note, loupe_note, "note %s\n", text(told.text))
SHOW(show_finding, loupe_finding, "finding %s, state %u, severity %u: %s\n", text(told.rule), (unsigned)told.state,
     (unsigned)told.severity, text(told.message))
SHOW(end, loupe_ending, "end, %u\n", (unsigned)told.how)
static loupe_status show_row(void* self, const loupe_row* row, loupe_error* error) {
  FILE* file = ((shown*)self)->file;
  TAKE(loupe_row, told, row);
  if (file == NULL) return fail(error, LOUPE_FAILED, "the run has not begun");
  fprintf(file, "row %s, of %llu:", text(told.layer), (unsigned long long)told.events);
  for (size_t i = 0; told.values != NULL && i < told.value_count; ++i)
    fprintf(file, " %s=%.6g", told.value_names[i], told.values[i]);
  for (size_t i = 0; told.bands != NULL && i < told.band_count; ++i)
    fprintf(file, " %s..%s=%g..%g", told.band_names[2 * i], told.band_names[2 * i + 1], told.bands[2 * i],
            told.bands[2 * i + 1]);
  fprintf(file, "\n");
  return LOUPE_OK;
}
static loupe_status show_histogram(void* self, const loupe_histogram* histogram, loupe_error* error) {
  FILE* file = ((shown*)self)->file;
  TAKE(loupe_histogram, told, histogram);
  if (file == NULL) return fail(error, LOUPE_FAILED, "the run has not begun");
  fprintf(file, "histogram %s, %s:", text(told.layer), text(told.line));
  for (size_t i = 0; told.counts != NULL && i < told.bin_count; ++i)
    fprintf(file, " %g..%g=%g", told.edges[i], told.edges[i + 1], told.counts[i]);
  fprintf(file, "\n");
  return LOUPE_OK;
}
/* Of one setting alone: a later host may tell more. */
static loupe_status show_setting(void* self, const loupe_option_value* setting, loupe_error* error) {
  FILE* file = ((shown*)self)->file;
  TAKE(loupe_option_value, told, setting);
  if (file == NULL) return fail(error, LOUPE_FAILED, "the run has not begun");
  if (strcmp(text(told.name), "optimizer") == 0) fprintf(file, "setting optimizer: %s\n", text(told.string));
  return LOUPE_OK;
}
static loupe_status end_tick(void* self, loupe_error* error) {
  FILE* file = ((shown*)self)->file;
  if (file == NULL) return fail(error, LOUPE_FAILED, "the run has not begun");
  fprintf(file, "end of tick\n");
  return LOUPE_OK;
}
static loupe_status flush_text(void* self, loupe_error* error) {
  FILE* file = ((shown*)self)->file;
  return file == NULL || fflush(file) == 0 ? LOUPE_OK : fail(error, LOUPE_FAILED, "the disk is full");
}
static loupe_status show_progress(void* self, const loupe_progress* progress, loupe_error* error) {
  (void)progress, (void)error;
  ++((shown*)self)->progress; /* it comes by the clock, and so is not written */
  return LOUPE_OK;
}
static const loupe_visualizer text_table = {.struct_size = sizeof(loupe_visualizer),
                                            .begin = begin,
                                            .tag = show_tag,
                                            .begin_tick = begin_tick,
                                            .row = show_row,
                                            .histogram = show_histogram,
                                            .end_tick = end_tick,
                                            .flush = flush_text,
                                            .progress = show_progress,
                                            .finding = show_finding,
                                            .note = show_note,
                                            .model = show_model,
                                            .hyperparameter = show_setting,
                                            .end = end};

#define OPTION(NAME, TYPE, ...)               \
  static const loupe_option NAME##_option = { \
      .struct_size = sizeof(loupe_option), .type = LOUPE_TYPE_##TYPE, .name = #NAME, __VA_ARGS__}
static const loupe_option_value two = {
    .struct_size = sizeof(loupe_option_value), .type = LOUPE_TYPE_INTEGER, .integer = 2, .number = 2};
static const loupe_option_value half = {
    .struct_size = sizeof(loupe_option_value), .type = LOUPE_TYPE_NUMBER, .number = 0.5};
static const char* const words[] = {"yes", "maybe"};
static const loupe_option_value yes = {
    .struct_size = sizeof(loupe_option_value), .type = LOUPE_TYPE_STRING, .string = "yes"};
OPTION(flag, BOOLEAN, .help = "either");
OPTION(count, INTEGER, .help = "some", .flags = LOUPE_OPTION_HAS_MINIMUM | LOUPE_OPTION_HAS_MAXIMUM, .minimum = 0,
       .maximum = 255, .default_value = &two);
OPTION(share, NUMBER, .help = "any", .default_value = &half);
OPTION(word, STRING, .help = "one", .choices = words, .choice_count = 2, .default_value = &yes);
OPTION(names, STRINGS, .help = "several");
OPTION(map, MAP, .help = "named values");
OPTION(tap, INTEGER, .help = "LOUPE_TAP_", .default_value = &two);
OPTION(index, INTEGER, .help = "which of the outputs or inputs");
OPTION(path, STRING, .help = "the file", .flags = LOUPE_OPTION_REQUIRED);
static const loupe_option* const lens_options[] = {&flag_option, &count_option, &share_option,
                                                   &word_option, &names_option, &map_option};
static const loupe_option* const tap_options[] = {&tap_option, &index_option};
static const loupe_option* const text_options[] = {&path_option};

static const char* const aliases[] = {"c_everything"};
static const char* const gives[] = {"C Whole: all that ABI 1.0 has"};
#define COMPONENT(NAME, ID, ...)                    \
  static const loupe_component NAME##_component = { \
      .struct_size = sizeof(loupe_component), .interface_id = LOUPE_##ID##_ID, .name = "c_" #NAME, __VA_ARGS__}
COMPONENT(tap, GATHERER, .help = "one tap", .table = &tap_table, .options = tap_options, .option_count = 2,
          .create = create_tap, .destroy = destroy);
COMPONENT(measures, PREPROCESSOR, .help = "all measures", .table = &measures_table, .create = create_measures,
          .destroy = destroy);
COMPONENT(whole, LENS, .help = "all that there is", .table = &lens_table, .options = lens_options, .option_count = 6,
          .aliases = aliases, .alias_count = 1, .gives = gives, .give_count = 1, .example = "c_whole: {count: 3}",
          .create = create_lens, .destroy = destroy);
COMPONENT(text, VISUALIZER, .help = "a line for each message", .table = &text_table, .options = text_options,
          .option_count = 1, .create = create_text, .destroy = destroy_text);
static const loupe_component* const components[] = {&tap_component, &measures_component, &whole_component,
                                                    &text_component};
static const loupe_plugin plugin = {.struct_size = sizeof(loupe_plugin),
                                    .name = "c_whole",
                                    .version = "1.0",
                                    .description = "all that ABI 1.0 has",
                                    .license = "MIT",
                                    .components = components,
                                    .component_count = 4};

static const void* get_extension(const char* id) {
  return strcmp(id, LOUPE_PLUGIN_ID) == 0 ? &plugin : NULL;
}

LOUPE_ELF_NOTE(LOUPE_GATHERER_ID " c_tap\n" LOUPE_PREPROCESSOR_ID " c_measures\n" LOUPE_LENS_ID
                                 " c_whole +\n" LOUPE_VISUALIZER_ID " c_text\n");
extern LOUPE_EXPORT const loupe_entry loupe_plugin_entry;
const loupe_entry loupe_plugin_entry = {LOUPE_MAGIC, LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR, get_extension};
