/* Two lenses with their own preprocessors: that of `own_whole` lacks only optional functions, that of `own_short` has a
 * table that ends before a required function. */
#include <loupe/abi.h>
#include <stdlib.h>
#include <string.h>

static loupe_status request(void* self, loupe_request* request, loupe_error* error) {
  (void)self, (void)request, (void)error;
  return LOUPE_OK;
}
static loupe_status process(void* self, const loupe_event* event, loupe_error* error) {
  (void)self, (void)event, (void)error;
  return LOUPE_OK;
}
static size_t series_count(void* self) {
  (void)self;
  return 1;
}
static loupe_status read_series(void* self, size_t index, loupe_series* row, loupe_error* error) {
  (void)self, (void)index, (void)error;
  row->name = "nothing";
  return LOUPE_OK;
}
static loupe_status reset(void* self, loupe_error* error) {
  (void)self, (void)error;
  return LOUPE_OK;
}

static const loupe_preprocessor whole = {.struct_size = sizeof(loupe_preprocessor),
                                         .request = request,
                                         .process = process,
                                         .series_count = series_count,
                                         .read = read_series,
                                         .reset = reset};
static const loupe_preprocessor cut = {.struct_size = offsetof(loupe_preprocessor, reset),
                                       .request = request,
                                       .process = process,
                                       .series_count = series_count,
                                       .read = read_series,
                                       .reset = reset};

typedef struct lens {
  const loupe_preprocessor* preprocessor;
  const loupe_wiring* wiring;
  loupe_source* source;
} lens;

static loupe_status create(const loupe_preprocessor* preprocessor, void** self) {
  lens* me = calloc(1, sizeof *me);
  me->preprocessor = preprocessor;
  *self = me;
  return LOUPE_OK;
}
static loupe_status create_whole(const loupe_component* component, const loupe_host* host, const loupe_options* options,
                                 void** self, loupe_error* error) {
  (void)component, (void)host, (void)options, (void)error;
  return create(&whole, self);
}
static loupe_status create_short(const loupe_component* component, const loupe_host* host, const loupe_options* options,
                                 void** self, loupe_error* error) {
  (void)component, (void)host, (void)options, (void)error;
  return create(&cut, self);
}
static void destroy(void* self) {
  free(self);
}

static loupe_status attach(void* self, const loupe_wiring* wiring, loupe_error* error) {
  (void)error;
  ((lens*)self)->wiring = wiring;
  return LOUPE_OK;
}
static loupe_status visit(void* self, const loupe_module* module, loupe_error* error) {
  lens* me = self;
  const loupe_watch watch = {.struct_size = sizeof watch,
                             .module = module,
                             .gatherer = "wide_forward",
                             .own_interface = me->preprocessor,
                             .own_preprocessor = me};
  return me->wiring->watch(me->wiring->context, &watch, &me->source, error);
}
static loupe_status report(void* self, const loupe_tick* tick, const loupe_sink* sink, loupe_error* error) {
  lens* me = self;
  size_t count = 0;
  const double q = 0.5;
  double median = 0;
  const loupe_tag tag = {.struct_size = sizeof tag, .type = LOUPE_SCALE_NUMERICAL, .id = "Own"};
  const char* const names[] = {"status of values", "status of quantiles"};
  double statuses[2];
  const loupe_row row = {.struct_size = sizeof row,
                         .tag = "Own",
                         .layer = "Own",
                         .value_count = 2,
                         .value_names = names,
                         .values = statuses};
  loupe_status told = sink->tag(sink->context, &tag, error);
  (void)tick;
  if (told != LOUPE_OK) return told;
  statuses[0] = me->wiring->values(me->wiring->context, me->source, 0, NULL, 0, &count, error);
  statuses[1] = me->wiring->quantiles(me->wiring->context, me->source, 0, &q, 1, &median, error);
  return sink->row(sink->context, &row, error);
}

static const loupe_lens table = {.struct_size = sizeof(loupe_lens), .attach = attach, .visit = visit, .report = report};
static const loupe_component own_whole = {.struct_size = sizeof(loupe_component),
                                          .interface_id = LOUPE_LENS_ID,
                                          .name = "own_whole",
                                          .help = "its preprocessor lacks what is optional",
                                          .table = &table,
                                          .create = create_whole,
                                          .destroy = destroy};
static const loupe_component own_short = {.struct_size = sizeof(loupe_component),
                                          .interface_id = LOUPE_LENS_ID,
                                          .name = "own_short",
                                          .help = "its preprocessor lacks what every one has",
                                          .table = &table,
                                          .create = create_short,
                                          .destroy = destroy};
static const loupe_component* const components[] = {&own_whole, &own_short};
static const loupe_plugin plugin = {
    .struct_size = sizeof plugin, .name = "own", .version = "1", .components = components, .component_count = 2};

static const void* get_extension(const char* id) {
  return strcmp(id, LOUPE_PLUGIN_ID) == 0 ? &plugin : NULL;
}

LOUPE_ELF_NOTE(LOUPE_LENS_ID " own_whole\n" LOUPE_LENS_ID " own_short\n");
extern LOUPE_EXPORT const loupe_entry loupe_plugin_entry;
const loupe_entry loupe_plugin_entry = {LOUPE_MAGIC, LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR, get_extension};
