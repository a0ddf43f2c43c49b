/* A component of each kind in plain C, as a plugin of ABI 1.0 has them. */
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
static void destroy(void* self) {
  free(self);
}
/* The host's struct as far as its size reaches, and zeros behind that. */
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
static const char* text(const char* text) {
  return text != NULL ? text : "-";
}
static loupe_status lacking(loupe_error* error) {
  return fail(error, LOUPE_INVALID, "the host lacks what ABI 1.0 has");
}

/* The gatherer c_outputs hands on what the forward tap tells, by emit. */
typedef struct outputs {
  const loupe_taps* taps;
} outputs;

static loupe_status create_outputs(const loupe_component* component, const loupe_host* host,
                                   const loupe_options* options, void** self, loupe_error* error) {
  (void)component, (void)host, (void)options;
  *self = calloc(1, sizeof(outputs));
  return *self != NULL ? LOUPE_OK : fail(error, LOUPE_FAILED, "no memory");
}
static loupe_status open_outputs(void* self, const loupe_taps* taps, const loupe_module* module, const char* label,
                                 loupe_error* error) {
  const loupe_subscription wanted = {.struct_size = sizeof wanted, .tap = LOUPE_TAP_FORWARD};
  (void)module, (void)label;
  if (!LOUPE_OFFERS(*taps, subscribe) || !LOUPE_OFFERS(*taps, emit)) return lacking(error);
  ((outputs*)self)->taps = taps;
  return taps->subscribe(taps->context, &wanted, error);
}
static loupe_status take_output(void* self, const loupe_event* event, loupe_error* error) {
  const loupe_taps* taps = ((outputs*)self)->taps;
  return taps->emit(taps->context, event, error);
}
static const loupe_gatherer outputs_table = {
    .struct_size = sizeof(loupe_gatherer), .open = open_outputs, .event = take_output};

/* The preprocessor c_means folds the mean of each tensor. */
typedef struct means {
  double sum, least, most, last;
  uint64_t count, nan_count, inf_count;
} means;

static loupe_status create_means(const loupe_component* component, const loupe_host* host, const loupe_options* options,
                                 void** self, loupe_error* error) {
  (void)component, (void)host, (void)options;
  *self = calloc(1, sizeof(means));
  return *self != NULL ? LOUPE_OK : fail(error, LOUPE_FAILED, "no memory");
}
static loupe_status request_means(void* self, loupe_request* request, loupe_error* error) {
  TAKE(loupe_request, wanted, request);
  (void)self, (void)error;
  wanted.measures = LOUPE_MEASURE_SUMS;
  wanted.passes = LOUPE_PASS_TRAINING;
  give(request, &wanted, sizeof wanted);
  return LOUPE_OK;
}
static loupe_status process_mean(void* self, const loupe_event* event, loupe_error* error) {
  means* me = self;
  TAKE(loupe_event, told, event);
  TAKE(loupe_measurement, found, told.measurement);
  const loupe_measurement* measured = &found;
  if ((measured->measures & LOUPE_MEASURE_SUMS) == 0) return fail(error, LOUPE_FAILED, "the event is not measured");
  me->nan_count += measured->nan_count > 0;
  me->inf_count += measured->nan_count == 0 && measured->inf_count > 0;
  if (measured->numel == 0 || measured->nan_count + measured->inf_count > 0) return LOUPE_OK;
  me->last = measured->sum / (double)measured->numel;
  me->least = me->count == 0 || me->last < me->least ? me->last : me->least;
  me->most = me->count == 0 || me->last > me->most ? me->last : me->most;
  me->sum += me->last;
  ++me->count;
  return LOUPE_OK;
}
static size_t count_series(void* self) {
  (void)self;
  return 1;
}
static loupe_status read_means(void* self, size_t index, loupe_series* row, loupe_error* error) {
  const means* me = self;
  const loupe_series series = {.name = "mean",
                               .count = me->count,
                               .nan_count = me->nan_count,
                               .inf_count = me->inf_count,
                               .sum = me->sum,
                               .mean = me->count > 0 ? me->sum / (double)me->count : 0,
                               .minimum = me->least,
                               .maximum = me->most,
                               .last = me->last};
  if (index != 0) return fail(error, LOUPE_NOT_FOUND, "there is one series");
  give(row, &series, sizeof series);
  return LOUPE_OK;
}
static loupe_status reset_means(void* self, loupe_error* error) {
  (void)error;
  memset(self, 0, sizeof(means));
  return LOUPE_OK;
}
static loupe_status save_means(void* self, loupe_write write, void* writer, loupe_error* error) {
  return write(writer, self, sizeof(means), error);
}
static loupe_status merge_means(void* self, const void* bytes, size_t size, loupe_error* error) {
  means other, *me = self;
  if (size != sizeof other) return fail(error, LOUPE_INVALID, "these are no means");
  memcpy(&other, bytes, size);
  if (other.count == 0) return LOUPE_OK;
  me->least = me->count == 0 || other.least < me->least ? other.least : me->least;
  me->most = me->count == 0 || other.most > me->most ? other.most : me->most;
  me->last = other.last;
  me->sum += other.sum;
  me->count += other.count;
  return LOUPE_OK;
}
static const loupe_preprocessor means_table = {.struct_size = sizeof(loupe_preprocessor),
                                               .request = request_means,
                                               .process = process_mean,
                                               .series_count = count_series,
                                               .read = read_means,
                                               .reset = reset_means,
                                               .save_state = save_means,
                                               .merge_state = merge_means};

/* The lens c_lens puts both behind each leaf, shows what they give, and finds means above `limit`. */
enum { MOST_LAYERS = 16 };
typedef struct layer {
  uint64_t module;
  char name[64];
  loupe_source* source;
} layer;
typedef struct lens {
  const loupe_wiring* wiring;
  double limit;
  size_t layer_count;
  layer layers[MOST_LAYERS];
  uint64_t steps;
} lens;

static loupe_status create_lens(const loupe_component* component, const loupe_host* host, const loupe_options* options,
                                void** self, loupe_error* error) {
  TAKE(loupe_options, given, options);
  lens* me = calloc(1, sizeof *me);
  (void)component;
  if (me == NULL) return fail(error, LOUPE_FAILED, "no memory");
  for (size_t i = 0; i < given.value_count; ++i) {
    TAKE(loupe_option_value, value, given.values[i]);
    if (strcmp(text(value.name), "limit") == 0) me->limit = value.number;
  }
  if (LOUPE_OFFERS(*host, log)) host->log(host->context, LOUPE_LOG_INFO, "c_lens of ABI 1.0 is made");
  *self = me;
  return LOUPE_OK;
}
static loupe_status attach(void* self, const loupe_wiring* wiring, loupe_error* error) {
  if (!LOUPE_OFFERS(*wiring, watch) || !LOUPE_OFFERS(*wiring, find) || !LOUPE_OFFERS(*wiring, read))
    return lacking(error);
  ((lens*)self)->wiring = wiring;
  return LOUPE_OK;
}
static loupe_status visit(void* self, const loupe_module* module, loupe_error* error) {
  lens* me = self;
  layer* added = &me->layers[me->layer_count];
  const loupe_watch watch = {
      .struct_size = sizeof watch, .module = module, .gatherer = "c_outputs", .preprocessor = "c_means"};
  TAKE(loupe_module, seen, module);
  if ((seen.flags & LOUPE_MODULE_LEAF) == 0 || me->layer_count == MOST_LAYERS) return LOUPE_OK;
  if (me->wiring == NULL) return fail(error, LOUPE_FAILED, "the lens is not attached");
  added->module = seen.id;
  snprintf(added->name, sizeof added->name, "%s", text(seen.name));
  const loupe_status status = me->wiring->watch(me->wiring->context, &watch, &added->source, error);
  me->layer_count += status == LOUPE_OK;
  return status;
}
static void forget(void* self, const loupe_module* module) {
  TAKE(loupe_module, gone, module);
  lens* me = self;
  for (size_t i = 0; i < me->layer_count; ++i) {
    if (me->layers[i].module == gone.id) me->layers[i] = me->layers[--me->layer_count];
  }
}
static loupe_status step(void* self, const loupe_step* taken, const loupe_sink* sink, loupe_error* error) {
  (void)taken, (void)sink, (void)error;
  ++((lens*)self)->steps;
  return LOUPE_OK;
}
static loupe_status report(void* self, const loupe_tick* tick, const loupe_sink* sink, loupe_error* error) {
  lens* me = self;
  const loupe_tag tag = {.struct_size = sizeof tag, .id = "C Means", .description = "The mean of each output."};
  (void)tick;
  if (!LOUPE_OFFERS(*sink, tag) || !LOUPE_OFFERS(*sink, row) || !LOUPE_OFFERS(*sink, finding)) return lacking(error);
  loupe_status status = sink->tag(sink->context, &tag, error);
  for (size_t i = 0; status == LOUPE_OK && i < me->layer_count; ++i) {
    static const char* const names[] = {"mean", "steps"};
    static const char* const ends[] = {"min", "max"};
    loupe_series read = {.struct_size = sizeof read};
    size_t place = 0;
    status = me->wiring->find(me->wiring->context, me->layers[i].source, "mean", &place, error);
    if (status == LOUPE_OK) {
      status = me->wiring->read(me->wiring->context, me->layers[i].source, place, &read, error);
    }
    if (status != LOUPE_OK || read.count == 0) continue;
    const double values[] = {read.mean, (double)me->steps}, band[] = {read.minimum, read.maximum};
    const loupe_row row = {.struct_size = sizeof row,
                           .tag = tag.id,
                           .layer = me->layers[i].name,
                           .events = read.count,
                           .value_count = 2,
                           .value_names = names,
                           .values = values,
                           .band_count = 1,
                           .band_names = ends,
                           .bands = band};
    status = sink->row(sink->context, &row, error);
    if (status != LOUPE_OK || read.mean <= me->limit) continue;
    const loupe_finding finding = {.struct_size = sizeof finding,
                                   .severity = LOUPE_SEVERITY_WARNING,
                                   .flags = LOUPE_FINDING_HAS_VALUE | LOUPE_FINDING_HAS_THRESHOLD,
                                   .rule = "c_large_mean",
                                   .layer = me->layers[i].name,
                                   .message = "the mean is above the limit",
                                   .value = read.mean,
                                   .threshold = me->limit,
                                   .count = 1};
    status = sink->finding(sink->context, &finding, error);
  }
  me->steps = 0;
  return status;
}
static const loupe_lens lens_table = {.struct_size = sizeof(loupe_lens),
                                      .attach = attach,
                                      .visit = visit,
                                      .forget = forget,
                                      .step = step,
                                      .report = report};

/* The visualizer c_lines writes a line for each message. */
typedef struct lines {
  FILE* file;
  char path[512];
} lines;

static loupe_status create_lines(const loupe_component* component, const loupe_host* host, const loupe_options* options,
                                 void** self, loupe_error* error) {
  TAKE(loupe_options, given, options);
  lines* me = calloc(1, sizeof *me);
  (void)component, (void)host;
  if (me == NULL) return fail(error, LOUPE_FAILED, "no memory");
  for (size_t i = 0; i < given.value_count; ++i) {
    TAKE(loupe_option_value, value, given.values[i]);
    if (strcmp(text(value.name), "path") == 0) snprintf(me->path, sizeof me->path, "%s", text(value.string));
  }
  *self = me;
  return LOUPE_OK;
}
static void destroy_lines(void* self) {
  lines* me = self;
  if (me->file != NULL) fclose(me->file);
  free(me);
}
static loupe_status begin(void* self, const loupe_run* run, loupe_error* error) {
  lines* me = self;
  (void)run;
  if (me->file != NULL) fclose(me->file);
  me->file = fopen(me->path, "w");
  return me->file != NULL ? LOUPE_OK : fail(error, LOUPE_FAILED, "the file cannot be written");
}
static loupe_status show_model(void* self, const loupe_model* model, loupe_error* error) {
  TAKE(loupe_model, seen, model);
  FILE* file = ((lines*)self)->file;
  if (file == NULL) return fail(error, LOUPE_FAILED, "the run has not begun");
  fprintf(file, "model of %zu modules\n", seen.module_count);
  return LOUPE_OK;
}
static loupe_status show_tag(void* self, const loupe_tag* tag, loupe_error* error) {
  TAKE(loupe_tag, seen, tag);
  FILE* file = ((lines*)self)->file;
  if (file == NULL) return fail(error, LOUPE_FAILED, "the run has not begun");
  fprintf(file, "tag %s\n", text(seen.id));
  return LOUPE_OK;
}
static loupe_status begin_tick(void* self, const loupe_tick* tick, loupe_error* error) {
  TAKE(loupe_tick, seen, tick);
  FILE* file = ((lines*)self)->file;
  if (file == NULL) return fail(error, LOUPE_FAILED, "the run has not begun");
  fprintf(file, "tick %g after %llu steps\n", seen.at.epoch, (unsigned long long)seen.at.step);
  return LOUPE_OK;
}
static loupe_status show_row(void* self, const loupe_row* row, loupe_error* error) {
  TAKE(loupe_row, seen, row);
  FILE* file = ((lines*)self)->file;
  if (file == NULL) return fail(error, LOUPE_FAILED, "the run has not begun");
  fprintf(file, "row %s, %s, of %llu:", text(seen.tag), text(seen.layer), (unsigned long long)seen.events);
  for (size_t i = 0; seen.values != NULL && i < seen.value_count; ++i)
    fprintf(file, " %s=%g", seen.value_names[i], seen.values[i]);
  for (size_t i = 0; seen.bands != NULL && i < seen.band_count; ++i)
    fprintf(file, " %s..%s=%g..%g", seen.band_names[2 * i], seen.band_names[2 * i + 1], seen.bands[2 * i],
            seen.bands[2 * i + 1]);
  fprintf(file, "\n");
  return LOUPE_OK;
}
static loupe_status show_histogram(void* self, const loupe_histogram* histogram, loupe_error* error) {
  TAKE(loupe_histogram, seen, histogram);
  FILE* file = ((lines*)self)->file;
  if (file == NULL) return fail(error, LOUPE_FAILED, "the run has not begun");
  fprintf(file, "histogram %s of %zu bins\n", text(seen.tag), seen.bin_count);
  return LOUPE_OK;
}
static loupe_status show_finding(void* self, const loupe_finding* finding, loupe_error* error) {
  TAKE(loupe_finding, seen, finding);
  FILE* file = ((lines*)self)->file;
  if (file == NULL) return fail(error, LOUPE_FAILED, "the run has not begun");
  fprintf(file, "finding %s, %s, state %u: %s (%g, %g)\n", text(seen.rule), text(seen.layer), (unsigned)seen.state,
          text(seen.message), seen.value, seen.threshold);
  return LOUPE_OK;
}
static loupe_status flush_lines(void* self, loupe_error* error) {
  FILE* file = ((lines*)self)->file;
  return file == NULL || fflush(file) == 0 ? LOUPE_OK : fail(error, LOUPE_FAILED, "the disk is full");
}
static loupe_status end(void* self, const loupe_ending* ending, loupe_error* error) {
  TAKE(loupe_ending, seen, ending);
  if (((lines*)self)->file != NULL) fprintf(((lines*)self)->file, "end, %u\n", (unsigned)seen.how);
  return flush_lines(self, error);
}
static const loupe_visualizer lines_table = {.struct_size = sizeof(loupe_visualizer),
                                             .begin = begin,
                                             .tag = show_tag,
                                             .begin_tick = begin_tick,
                                             .row = show_row,
                                             .histogram = show_histogram,
                                             .flush = flush_lines,
                                             .finding = show_finding,
                                             .model = show_model,
                                             .end = end};

static const loupe_option_value one = {
    .struct_size = sizeof(loupe_option_value), .type = LOUPE_TYPE_NUMBER, .number = 1};
static const loupe_option limit = {.struct_size = sizeof(loupe_option),
                                   .type = LOUPE_TYPE_NUMBER,
                                   .flags = LOUPE_OPTION_HAS_MINIMUM,
                                   .name = "limit",
                                   .help = "means above it are a finding",
                                   .default_value = &one,
                                   .minimum = 0};
static const loupe_option path = {.struct_size = sizeof(loupe_option),
                                  .type = LOUPE_TYPE_STRING,
                                  .flags = LOUPE_OPTION_REQUIRED,
                                  .name = "path",
                                  .help = "the file"};
static const loupe_option* const lens_options[] = {&limit};
static const loupe_option* const lines_options[] = {&path};

#define COMPONENT .struct_size = sizeof(loupe_component)
static const loupe_component outputs_component = {COMPONENT,
                                                  .interface_id = LOUPE_GATHERER_ID,
                                                  .name = "c_outputs",
                                                  .help = "outputs, handed on",
                                                  .table = &outputs_table,
                                                  .create = create_outputs,
                                                  .destroy = destroy};
static const loupe_component means_component = {COMPONENT,
                                                .interface_id = LOUPE_PREPROCESSOR_ID,
                                                .name = "c_means",
                                                .help = "the mean of each tensor",
                                                .table = &means_table,
                                                .create = create_means,
                                                .destroy = destroy};
static const loupe_component lens_component = {COMPONENT,
                                               .interface_id = LOUPE_LENS_ID,
                                               .name = "c_lens",
                                               .help = "the mean of each layer",
                                               .options = lens_options,
                                               .option_count = 1,
                                               .table = &lens_table,
                                               .create = create_lens,
                                               .destroy = destroy};
static const loupe_component lines_component = {COMPONENT,
                                                .interface_id = LOUPE_VISUALIZER_ID,
                                                .name = "c_lines",
                                                .help = "a line for each message",
                                                .options = lines_options,
                                                .option_count = 1,
                                                .table = &lines_table,
                                                .create = create_lines,
                                                .destroy = destroy_lines};
static const loupe_component* const components[] = {&outputs_component, &means_component, &lens_component,
                                                    &lines_component};
static const loupe_plugin plugin = {.struct_size = sizeof(loupe_plugin),
                                    .name = "c_kinds",
                                    .version = "1.0",
                                    .components = components,
                                    .component_count = 4};

static const void* get_extension(const char* id) {
  return strcmp(id, LOUPE_PLUGIN_ID) == 0 ? &plugin : NULL;
}

LOUPE_ELF_NOTE(LOUPE_GATHERER_ID " c_outputs\n" LOUPE_PREPROCESSOR_ID " c_means\n" LOUPE_LENS_ID
                                 " c_lens\n" LOUPE_VISUALIZER_ID " c_lines\n");
extern LOUPE_EXPORT const loupe_entry loupe_plugin_entry;
const loupe_entry loupe_plugin_entry = {LOUPE_MAGIC, LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR, get_extension};
