/* All structs that this plugin fills are zero, except for their sizes and required members: the host uses the default
 * for a zero member. */
#include <loupe/abi.h>
#include <stdlib.h>
#include <string.h>

static const loupe_option_value no_text = {.struct_size = sizeof no_text, .type = LOUPE_TYPE_STRING};
static const loupe_option number = {
    .struct_size = sizeof number, .type = LOUPE_TYPE_NUMBER, .name = "number", .help = "any number"};
static const loupe_option text = {.struct_size = sizeof text,
                                  .type = LOUPE_TYPE_STRING,
                                  .name = "text",
                                  .help = "any text",
                                  .default_value = &no_text};
static const loupe_option list = {
    .struct_size = sizeof list, .type = LOUPE_TYPE_STRINGS, .name = "list", .help = "any texts"};
static const loupe_option* const options[] = {&number, &text, &list};

/* The same struct serves as a gatherer that passes everything on, and as a lens with its own preprocessor. */
typedef struct zeroed {
  const loupe_taps* taps;
  const loupe_wiring* wiring;
  loupe_source* source;
  double number;
  double events, measured;
} zeroed;

static loupe_status create(const loupe_component* component, const loupe_host* host, const loupe_options* given,
                           void** self, loupe_error* error) {
  zeroed* made = calloc(1, sizeof *made);
  (void)component, (void)host, (void)error;
  if (made == NULL) return LOUPE_FAILED;
  for (size_t i = 0; given != NULL && i < given->value_count; ++i) {
    if (strcmp(given->values[i]->name, "number") == 0) made->number = given->values[i]->number;
  }
  *self = made;
  return LOUPE_OK;
}
static void destroy(void* self) {
  free(self);
}

static loupe_status open_gatherer(void* self, const loupe_taps* taps, const loupe_module* module, const char* label,
                                  loupe_error* error) {
  const loupe_subscription wanted = {.struct_size = sizeof wanted, .tap = LOUPE_TAP_FORWARD};
  (void)module, (void)label;
  ((zeroed*)self)->taps = taps;
  return taps->subscribe(taps->context, &wanted, error);
}
/* Emits a new event for each event. */
static loupe_status take_event(void* self, const loupe_event* event, loupe_error* error) {
  const loupe_taps* taps = ((zeroed*)self)->taps;
  const loupe_event made = {.struct_size = sizeof made, .tap = event->tap, .flags = event->flags};
  return taps->emit(taps->context, &made, error);
}
static const loupe_gatherer gatherer_table = {
    .struct_size = sizeof gatherer_table, .open = open_gatherer, .event = take_event};

static loupe_status request(void* self, loupe_request* wanted, loupe_error* error) {
  const loupe_request zero = {.struct_size = wanted->struct_size};
  (void)self, (void)error;
  memcpy(wanted, &zero, sizeof zero < wanted->struct_size ? sizeof zero : wanted->struct_size);
  return LOUPE_OK;
}
static loupe_status process(void* self, const loupe_event* event, loupe_error* error) {
  zeroed* me = self;
  (void)error;
  me->events += 1;
  me->measured += event->measurement != NULL;
  return LOUPE_OK;
}
static size_t series_count(void* self) {
  (void)self;
  return 0;
}
static loupe_status read_series(void* self, size_t index, loupe_series* row, loupe_error* error) {
  (void)self, (void)index, (void)row, (void)error;
  return LOUPE_NOT_FOUND;
}
static loupe_status reset(void* self, loupe_error* error) {
  (void)self, (void)error;
  return LOUPE_OK;
}
static const loupe_preprocessor preprocessor_table = {.struct_size = sizeof preprocessor_table,
                                                      .request = request,
                                                      .process = process,
                                                      .series_count = series_count,
                                                      .read = read_series,
                                                      .reset = reset};

static loupe_status attach(void* self, const loupe_wiring* wiring, loupe_error* error) {
  (void)error;
  ((zeroed*)self)->wiring = wiring;
  return LOUPE_OK;
}
static loupe_status visit(void* self, const loupe_module* module, loupe_error* error) {
  zeroed* me = self;
  const loupe_watch watched = {.struct_size = sizeof watched,
                               .module = module,
                               .gatherer = "zeroed_forward",
                               .own_interface = &preprocessor_table,
                               .own_preprocessor = me};
  return me->wiring->watch(me->wiring->context, &watched, &me->source, error);
}
static loupe_status report(void* self, const loupe_tick* tick, const loupe_sink* sink, loupe_error* error) {
  const zeroed* me = self;
  const double edges[] = {0, 1}, counts[] = {2};
  const loupe_tag tag = {.struct_size = sizeof tag, .id = "Zeroed"};
  const char* const names[] = {"number", "events", "measured"};
  const double numbers[] = {me->number, me->events, me->measured};
  const loupe_row values = {
      .struct_size = sizeof values, .tag = "Zeroed", .value_count = 3, .value_names = names, .values = numbers};
  const char* const ends[] = {"low", "high"};
  const double band[] = {0, 0};
  const loupe_row bands = {
      .struct_size = sizeof bands, .tag = "Zeroed", .band_count = 1, .band_names = ends, .bands = band};
  const loupe_row nothing = {.struct_size = sizeof nothing, .tag = "Zeroed"};
  const loupe_histogram histogram = {.struct_size = sizeof histogram,
                                     .tag = "Zeroed",
                                     .line = "bins",
                                     .edges = edges,
                                     .counts = counts,
                                     .bin_count = 1};
  loupe_status status = sink->tag(sink->context, &tag, error);
  (void)tick;
  if (status == LOUPE_OK) status = sink->row(sink->context, &nothing, error);
  if (status == LOUPE_OK) status = sink->row(sink->context, &values, error);
  if (status == LOUPE_OK) status = sink->row(sink->context, &bands, error);
  return status == LOUPE_OK ? sink->histogram(sink->context, &histogram, error) : status;
}
static const loupe_lens lens_table = {
    .struct_size = sizeof lens_table, .attach = attach, .visit = visit, .report = report};

static const loupe_component lens = {.struct_size = sizeof lens,
                                     .interface_id = LOUPE_LENS_ID,
                                     .name = "zeroed",
                                     .help = "says nothing that has a default",
                                     .options = options,
                                     .option_count = sizeof options / sizeof *options,
                                     .table = &lens_table,
                                     .create = create,
                                     .destroy = destroy};
static const loupe_component gatherer = {.struct_size = sizeof gatherer,
                                         .interface_id = LOUPE_GATHERER_ID,
                                         .name = "zeroed_forward",
                                         .help = "forwards",
                                         .table = &gatherer_table,
                                         .create = create,
                                         .destroy = destroy};
static const loupe_component preprocessor = {.struct_size = sizeof preprocessor,
                                             .interface_id = LOUPE_PREPROCESSOR_ID,
                                             .name = "zeroed_numbers",
                                             .help = "asks for nothing",
                                             .table = &preprocessor_table,
                                             .create = create,
                                             .destroy = destroy};
static const loupe_component* const components[] = {&lens, &gatherer, &preprocessor};
static const loupe_plugin plugin = {
    .struct_size = sizeof plugin, .name = "zeroed", .version = "1", .components = components, .component_count = 3};

static const void* get_extension(const char* id) {
  return strcmp(id, LOUPE_PLUGIN_ID) == 0 ? &plugin : NULL;
}

extern LOUPE_EXPORT const loupe_entry loupe_plugin_entry;
const loupe_entry loupe_plugin_entry = {LOUPE_MAGIC, LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR, get_extension};
