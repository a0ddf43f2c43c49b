/* A plugin in plain C with a component of each kind. By default it keeps every rule. If its file has the name of a
 * fault, it behaves wrongly; if built with one of the macros named FAULT_, its constant description of itself is wrong.
 * All else stays the same. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <loupe/abi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
#error "plain C"
#endif

void throw_something(void); /* throw.cpp */
void allocate_by_new(void);
void nobody_has_this(void);

static char loaded_as[64];
__attribute__((constructor)) static void learn_name(void) {
  Dl_info info;
  if (dladdr(loaded_as, &info) == 0) return;
  const char* slash = strrchr(info.dli_fname, '/');
  snprintf(loaded_as, sizeof loaded_as, "%s", slash == NULL ? info.dli_fname : slash + 1);
  char* ending = strstr(loaded_as, ".so");
  if (ending != NULL) *ending = '\0';
}
static int is(const char* fault) {
  return strcmp(loaded_as, fault) == 0;
}

static loupe_status fail(loupe_error* error, loupe_status status, const char* message) {
  if (is("messages")) return status;
  if (is("messages_too_long")) memcpy(error->message, message, strlen(message) + 1);
  if (error != NULL && error->message != NULL && error->capacity > 0)
    snprintf(error->message, error->capacity, "%s", message);
  return status;
}
static loupe_status too_short(loupe_error* error) {
  return fail(error, LOUPE_INVALID, "a struct is too short to be read");
}

/* Whether a struct can be read at all. One fault requires exactly this size, another ignores the size.
 */
#define READABLE(STRUCT, MEMBER)                                                     \
  (is("struct_sizes_equal")    ? (STRUCT)->struct_size == sizeof *(STRUCT)           \
   : is("struct_sizes_beyond") ? ((void)*(volatile const char*)&(STRUCT)->MEMBER, 1) \
                               : LOUPE_REACHES(*(STRUCT), MEMBER))

typedef struct instance {
  uint64_t count;
  double sum;
  int begun;
  const loupe_taps* taps;
  const loupe_wiring* wiring;
  loupe_source* source;
  const void* kept;
  void* grown;
} instance;

static int instances = 0;

static loupe_status create(const loupe_component* component, const loupe_host* host, const loupe_options* options,
                           void** self, loupe_error* error) {
  (void)component;
  if (!READABLE(host, get_extension)) return too_short(error);
  if (options == NULL || !LOUPE_REACHES(*options, value_count))
    return fail(error, LOUPE_INVALID, "there are no options to read");
  if (is("creation") && instances > 0) return fail(error, LOUPE_FAILED, "there is one already");
  if (is("create_fails")) {
    *self = &instances; /* not a valid instance */
    return fail(error, LOUPE_FAILED, "there is no room");
  }
  ++instances;
  *self = calloc(1, sizeof(instance));
  return LOUPE_OK;
}
static void destroy(void* self) {
  --instances;
  if (is("leaks")) return;
  instance* it = self;
  while (it->grown != NULL) {
    void* next = *(void**)it->grown;
    free(it->grown);
    it->grown = next;
  }
  free(self);
}

/* ---- gatherer ---- */

static loupe_status open(void* self, const loupe_taps* taps, const loupe_module* module, const char* label,
                         loupe_error* error) {
  instance* it = self;
  if (!READABLE(taps, emit)) return too_short(error);
  if (module == NULL || label != NULL) return fail(error, LOUPE_INVALID, "it watches modules as a whole");
  it->taps = taps;
  const loupe_subscription subscription = {.struct_size = sizeof subscription, .tap = LOUPE_TAP_FORWARD};
  return taps->subscribe(taps->context, &subscription, error);
}
static loupe_status event(void* self, const loupe_event* event, loupe_error* error) {
  instance* it = self;
  if (it->taps == NULL) return fail(error, LOUPE_INVALID, "it was not opened");
  if (!READABLE(event, tensor)) return too_short(error);
  return it->taps->emit(it->taps->context, event, error);
}
#ifdef FAULT_FUNCTIONS
#define OPEN (0 ? open : NULL)
#else
#define OPEN open
#endif
static const loupe_gatherer gatherer = {.struct_size = sizeof gatherer, .open = OPEN, .event = event};

/* ---- preprocessor: the mean of its events' numbers of elements ---- */

static instance* numbers_of(void* self) {
  static instance shared;
  return is("two_instances") ? &shared : self;
}
static _Thread_local int seen_here;

static loupe_status request(void* self, loupe_request* request, loupe_error* error) {
  (void)self;
  if (!READABLE(request, flags)) return too_short(error);
  request->flags |= LOUPE_REQUEST_TENSORS;
  if (is("overrun")) ((volatile unsigned char*)request)[request->struct_size] = 0;
  if (is("measured") || is("measured_compared")) request->measures |= LOUPE_MEASURE_SUMS;
  if (is("places") && LOUPE_REACHES(*request, places)) request->places = LOUPE_PLACE_CPU;
  if (is("threads")) seen_here = 1;
  return LOUPE_OK;
}
static loupe_status process(void* self, const loupe_event* event, loupe_error* error) {
  instance* it = numbers_of(self);
  if (!READABLE(event, tensor)) return too_short(error);
  if (is("threads") && !seen_here) return fail(error, LOUPE_FAILED, "it works on its own thread alone");
  while (is("hang")) continue;
  if (event->tensor == NULL && is("exceptions")) throw_something();
  if (event->tensor == NULL) return LOUPE_OK;
  if (!READABLE(event->tensor, numel)) return too_short(error);
  const int is_on_cpu = event->tensor->data != NULL && event->tensor->device_type == LOUPE_DEVICE_CPU;
  volatile unsigned char* const data = (volatile unsigned char*)event->tensor->data;
  if (is("places") && event->tensor->device_type != LOUPE_DEVICE_CPU) abort(); /* it asked for CPU tensors only */
  if (is("panics") && event->tensor->dim == 0)
    return fail(error, LOUPE_FAILED, "it panicked: index out of bounds: the len is 0 but the index is 0");
  if (is("data")) it->sum += event->tensor->sizes[0]; /* a tensor without dimensions has no sizes */
  if (is("data_device") && event->tensor->numel > 0) it->sum += *data;
  if (is("data_stride") && is_on_cpu) it->sum += data[event->tensor->numel * 16 - 1];
  if (is("writes") && is_on_cpu) *data = 0;
  if (is("nothing_kept")) {
    if (it->kept != NULL) it->sum += ((const loupe_event*)it->kept)->scalar;
    it->kept = event;
  }
  if (LOUPE_REACHES(*event, measurement) && event->measurement != NULL &&
      LOUPE_REACHES(*event->measurement, dead_unit_count)) {
    if (is("measured")) it->sum += (double)event->measurement->dead_unit_count;
    if (is("measured_compared") && event->measurement->dead_unit_count < 0) ++it->sum;
  }
  if (is("events_grow")) {
    void** block = malloc(1 << 20);
    *block = it->grown;
    it->grown = block;
  }
  if (is("events_allocate")) {
    void* volatile block = malloc(64);
    free(block);
  }
  if (is("events_allocate_by_new")) allocate_by_new();
  for (const clock_t begin = clock(); is("events_slow") && clock() - begin < CLOCKS_PER_SEC / 500;) continue;
  if (is("events_wait")) {
    const struct timespec moment = {0, 200000};
    nanosleep(&moment, NULL);
  }
  ++it->count;
  it->sum += (double)event->tensor->numel;
  return LOUPE_OK;
}
static size_t series_count(void* self) {
  (void)self;
  return 1;
}
static loupe_status read_series(void* self, size_t series, loupe_series* row, loupe_error* error) {
  const instance* it = numbers_of(self);
  if (series != 0) return fail(error, LOUPE_NOT_FOUND, "there is one series alone, and this is another");
  if (!READABLE(row, last)) return too_short(error);
  static char changing[] = "numel 0";
  if (is("series_name")) changing[6] = (char)('0' + (changing[6] + 1) % 10);
  row->name = is("series_name") ? changing : "numel";
  if (it->count == 0) return LOUPE_OK;
  row->count = it->count; /* sum is the only other number that the lens reads */
  row->sum = it->sum;
  row->mean = it->sum / (double)it->count;
  return LOUPE_OK;
}
static loupe_status reset(void* self, loupe_error* error) {
  instance* it = numbers_of(self);
  (void)error;
  it->count = 0;
  it->sum = 0;
  return LOUPE_OK;
}
typedef struct state {
  char mark[8];
  uint64_t count;
  double sum;
} state;
/* Writes the state in two pieces. */
static loupe_status save_state(void* self, loupe_write write, void* writer, loupe_error* error) {
  const instance* it = numbers_of(self);
  const state saved = {"numel 1", it->count, it->sum};
  loupe_status status = write(writer, &saved, sizeof saved.mark, error);
  if (is("state_full")) status = LOUPE_OK;
  if (status != LOUPE_OK) return status;
  status = write(writer, &saved.count, sizeof saved - sizeof saved.mark, error);
  if (is("state_full")) status = LOUPE_OK;
  return status;
}
static loupe_status merge_state(void* self, const void* bytes, size_t size, loupe_error* error) {
  instance* it = numbers_of(self);
  state saved;
  memset(&saved, 0, sizeof saved);
  if (is("state")) {
    if (size > sizeof saved) size = sizeof saved;
  } else if (size != sizeof saved || memcmp(bytes, "numel 1", 8) != 0) {
    return fail(error, LOUPE_INVALID, "these bytes are not a state of numel");
  }
  memcpy(&saved, bytes, size);
  it->count += saved.count;
  it->sum += saved.sum;
  return LOUPE_OK;
}
static const loupe_preprocessor preprocessor = {.struct_size = sizeof preprocessor,
                                                .request = request,
                                                .process = process,
                                                .series_count = series_count,
                                                .read = read_series,
                                                .reset = reset,
                                                .save_state = save_state,
#ifdef FAULT_STATE_HALF
                                                .merge_state = (0 ? merge_state : NULL)
#else
                                                .merge_state = merge_state
#endif
};

/* ---- lens ---- */

static loupe_status attach(void* self, const loupe_wiring* wiring, loupe_error* error) {
  instance* it = self;
  if (!READABLE(wiring, get_extension)) return too_short(error);
  it->wiring = wiring;
  return LOUPE_OK;
}
static loupe_status watch(instance* it, const loupe_module* module, loupe_error* error) {
  const loupe_watch watch = {.struct_size = sizeof watch,
                             .module = module,
                             .gatherer = is("gatherer") ? "forwrad" : "forward",
                             .preprocessor = "output_norm"};
  return it->wiring->watch(it->wiring->context, &watch, &it->source, error);
}
static loupe_status rest(instance* it, loupe_error* error) {
  return it->wiring->rest(it->wiring->context, it->source, LOUPE_REST_EVENTS, error);
}
static loupe_status visit(void* self, const loupe_module* module, loupe_error* error) {
  instance* it = self;
  if (it->wiring == NULL) return fail(error, LOUPE_INVALID, "it was not attached");
  if (!READABLE(module, parameter_count)) return too_short(error);
  if (is("blind") && strcmp(module->type, "GRU") != 0) return LOUPE_OK;
  const loupe_status watched = watch(it, module, error);
  return watched == LOUPE_OK ? rest(it, error) : watched;
}
static loupe_status report(void* self, const loupe_tick* tick, const loupe_sink* sink, loupe_error* error) {
  instance* it = self;
  if (!READABLE(tick, at.epoch) || !READABLE(sink, row)) return too_short(error);
  if (is("blind") && it->source == NULL) return LOUPE_OK;
  if (is("life") && tick->at.epoch > 0) return fail(error, LOUPE_FAILED, "it is tired");
  if (is("threads_turn") && it->wiring != NULL) watch(it, NULL, error);
  const loupe_tag tag = {
      .struct_size = sizeof tag, .type = LOUPE_SCALE_NUMERICAL, .flags = LOUPE_TAG_BIG, .id = "Epoch"};
  const char* const name = "epoch";
  const loupe_row row = {
      .struct_size = sizeof row, .tag = "Epoch", .value_count = 1, .value_names = &name, .values = &tick->at.epoch};
  const loupe_status told = sink->tag(sink->context, &tag, error);
  if (is("tells_nothing")) {
    (void)sink->tag(sink->context, NULL, error);
    (void)sink->histogram(sink->context, NULL, error);
  }
  const loupe_finding finding = {
      .struct_size = sizeof finding, .state = LOUPE_FINDING_RAISED, .rule = "low_rank", .message = "its rank is 2"};
  if (is("finding_state")) (void)sink->finding(sink->context, &finding, error);
  const loupe_status shown = told == LOUPE_OK ? sink->row(sink->context, &row, error) : told;
  const double edges[] = {0, 1, 1}, counts[] = {2, 3};
  const loupe_histogram histogram = {.struct_size = sizeof histogram,
                                     .tag = "Epoch",
                                     .line = "values",
                                     .edges = edges,
                                     .counts = counts,
                                     .bin_count = 2};
  if (is("edges")) (void)sink->histogram(sink->context, &histogram, error);
  if (is("told_twice")) (void)sink->row(sink->context, &row, error);
  if (is("asks_late") && LOUPE_OFFERS(*sink, get_extension)) {
    char id[32]; /* built at run time, so that the file does not contain it */
    snprintf(id, sizeof id, "loupe.late/draft%d", -9);
    (void)sink->get_extension(sink->context, id);
  }
  return shown;
}
static const loupe_lens lens = {.struct_size = sizeof lens, .attach = attach, .visit = visit, .report = report};

/* ---- visualizer ---- */

static loupe_status begin(void* self, const loupe_run* run, loupe_error* error) {
  if (!READABLE(run, directory)) return too_short(error);
  if (is("begin")) return fail(error, LOUPE_FAILED, "there is no room");
  ((instance*)self)->begun = 1;
  return LOUPE_OK;
}
static loupe_status begin_tick(void* self, const loupe_tick* tick, loupe_error* error) {
  (void)self;
  return READABLE(tick, at.epoch) ? LOUPE_OK : too_short(error);
}
static loupe_status row(void* self, const loupe_row* row, loupe_error* error) {
  if (!READABLE(row, bands)) return too_short(error);
  if (!((instance*)self)->begun) {
    if (is("wrong_calls") || is("begin")) abort();
    return fail(error, LOUPE_INVALID, "it was not told of a run");
  }
  return LOUPE_OK;
}
static const loupe_visualizer visualizer = {
    .struct_size = sizeof visualizer, .begin = begin, .begin_tick = begin_tick, .row = row};

/* ---- the plugin's description of itself ---- */

#ifdef FAULT_NAMES
#define OPTION_NAME "Ratio of all"
#else
#define OPTION_NAME "ratio"
#endif
#ifdef FAULT_HELP
#define OPTION_HELP ""
#else
#define OPTION_HELP "a share"
#endif
#ifdef FAULT_EXAMPLE
#define EXAMPLE "faulty_lens: {ration: 0.5}"
#else
#define EXAMPLE NULL
#endif
#ifdef FAULT_DEFAULTS
#define DEFAULT 7
#else
#define DEFAULT 0.5
#endif
#ifdef FAULT_PLUGIN
#define VERSION NULL
#else
#define VERSION "1"
#endif
#ifdef FAULT_BOOTSTRAP
#define MAJOR (LOUPE_ABI_MAJOR + 1)
#else
#define MAJOR LOUPE_ABI_MAJOR
#endif

static const loupe_option_value default_value = {
    .struct_size = sizeof(loupe_option_value), .type = LOUPE_TYPE_NUMBER, .number = DEFAULT};
static const loupe_option ratio = {.struct_size = sizeof(loupe_option),
                                   .type = LOUPE_TYPE_NUMBER,
                                   .flags = LOUPE_OPTION_HAS_MINIMUM | LOUPE_OPTION_HAS_MAXIMUM,
                                   .name = OPTION_NAME,
                                   .help = OPTION_HELP,
                                   .default_value = &default_value,
                                   .minimum = 0,
                                   .maximum = 1};
static const loupe_option* const options[] = {&ratio, &ratio};
#ifdef FAULT_OPTION_TWICE
#define OPTION_COUNT 2
#else
#define OPTION_COUNT 1
#endif

#define EXAMPLE_OF_gatherer NULL
#define EXAMPLE_OF_preprocessor NULL
#define EXAMPLE_OF_lens EXAMPLE
#define EXAMPLE_OF_visualizer NULL
#define COMPONENT(KIND, ID)                                                                   \
  static const loupe_component KIND##_component = {.struct_size = sizeof(loupe_component),    \
                                                   .interface_id = ID,                        \
                                                   .name = "faulty_" #KIND,                   \
                                                   .help = "made wrongly on purpose, or not", \
                                                   .options = options,                        \
                                                   .option_count = OPTION_COUNT,              \
                                                   .table = &KIND,                            \
                                                   .create = create,                          \
                                                   .destroy = destroy,                        \
                                                   .example = EXAMPLE_OF_##KIND}
COMPONENT(gatherer, LOUPE_GATHERER_ID);
COMPONENT(preprocessor, LOUPE_PREPROCESSOR_ID);
COMPONENT(lens, LOUPE_LENS_ID);
COMPONENT(visualizer, LOUPE_VISUALIZER_ID);
static const loupe_component* const components[] = {&gatherer_component, &preprocessor_component, &lens_component,
                                                    &visualizer_component};
static const loupe_plugin plugin = {.struct_size = sizeof(loupe_plugin),
                                    .name = "faulty",
                                    .version = VERSION,
                                    .components = components,
                                    .component_count = 4};

static const void* get_extension(const char* id) {
  if (is("unknown_ids")) return strncmp(id, LOUPE_PLUGIN_ID, strlen("loupe.plugin")) == 0 ? &plugin : NULL;
  return strcmp(id, LOUPE_PLUGIN_ID) == 0 ? &plugin : NULL;
}

#ifdef FAULT_NOTE
#define LENS_LINE
#else
#define LENS_LINE LOUPE_LENS_ID " faulty_lens\n"
#endif
LOUPE_ELF_NOTE(LOUPE_GATHERER_ID " faulty_gatherer\n" LOUPE_PREPROCESSOR_ID
                                 " faulty_preprocessor\n" LENS_LINE LOUPE_VISUALIZER_ID " faulty_visualizer\n");

#ifdef FAULT_READ_WITHOUT_RUNNING
extern LOUPE_EXPORT loupe_entry loupe_plugin_entry;
loupe_entry loupe_plugin_entry;
__attribute__((constructor)) static void fill_entry(void) {
  const loupe_entry filled = {LOUPE_MAGIC, MAJOR, LOUPE_ABI_MINOR, get_extension};
  loupe_plugin_entry = filled;
}
#else
extern LOUPE_EXPORT const loupe_entry loupe_plugin_entry;
const loupe_entry loupe_plugin_entry = {LOUPE_MAGIC, MAJOR, LOUPE_ABI_MINOR, get_extension};
#endif

#ifdef FAULT_EXPORTS
extern LOUPE_EXPORT int one_more_symbol;
int one_more_symbol = 1;
#endif
#ifdef FAULT_LINKS
static volatile int never = 0; /* otherwise clang runs the constructor while compiling */
__attribute__((constructor)) static void call_nobody(void) {
  if (never) nobody_has_this();
}
#endif
#ifdef FAULT_LOADING
__attribute__((constructor)) static void crash(void) {
  abort();
}
#endif
