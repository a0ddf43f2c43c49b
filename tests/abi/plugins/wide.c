/* A plugin like one of a newer minor version: every struct that it fills has members that this host does not know. The
 * host must neither read these members nor pass them on. */
#include <loupe/abi.h>
#include <stdlib.h>
#include <string.h>

typedef struct wide_lens {
  loupe_lens known;
  void (*newer)(void* self);
} wide_lens;
typedef struct wide_gatherer {
  loupe_gatherer known;
  void (*newer)(void* self);
} wide_gatherer;
typedef struct wide_component {
  loupe_component known;
  const char* newer;
} wide_component;
typedef struct wide_plugin {
  loupe_plugin known;
  const char* newer;
} wide_plugin;
typedef struct wide_option {
  loupe_option known;
  const char* newer;
} wide_option;
typedef struct wide_event {
  loupe_event known;
  uint64_t newer[8];
} wide_event;
typedef struct wide_tag {
  loupe_tag known;
  uint64_t newer[8];
} wide_tag;
typedef struct wide_row {
  loupe_row known;
  uint64_t newer[8];
} wide_row;
typedef struct wide_watch {
  loupe_watch known;
  uint64_t newer[8];
} wide_watch;
typedef struct wide_subscription {
  loupe_subscription known;
  uint64_t newer[8];
} wide_subscription;
typedef struct wide_series {
  loupe_series known;
  uint64_t newer[8];
} wide_series;
typedef struct wide_option_value {
  loupe_option_value known;
  const char* newer;
} wide_option_value;

typedef struct gatherer {
  const loupe_taps* taps;
} gatherer;
typedef struct lens {
  const loupe_wiring* wiring;
  loupe_source* source;
} lens;

static loupe_status create(const loupe_component* component, const loupe_host* host, const loupe_options* options,
                           void** self, loupe_error* error) {
  (void)component, (void)host, (void)options, (void)error;
  *self = calloc(1, sizeof(lens));
  return LOUPE_OK;
}
static void destroy(void* self) {
  free(self);
}

static loupe_status open_gatherer(void* self, const loupe_taps* taps, const loupe_module* module, const char* label,
                                  loupe_error* error) {
  (void)module, (void)label;
  ((gatherer*)self)->taps = taps;
  wide_subscription subscription = {.known = {.tap = LOUPE_TAP_FORWARD}, .newer = {1, 2, 3}};
  subscription.known.struct_size = sizeof subscription;
  return taps->subscribe(taps->context, &subscription.known, error);
}
static loupe_status take_event(void* self, const loupe_event* event, loupe_error* error) {
  const loupe_taps* taps = ((gatherer*)self)->taps;
  wide_event out = {.known = *event, .newer = {1, 2, 3}};
  out.known.struct_size = sizeof out;
  return taps->emit(taps->context, &out.known, error);
}

static loupe_status attach(void* self, const loupe_wiring* wiring, loupe_error* error) {
  (void)error;
  ((lens*)self)->wiring = wiring;
  return LOUPE_OK;
}
static loupe_status visit(void* self, const loupe_module* module, loupe_error* error) {
  lens* me = self;
  wide_watch watch = {.known = {.module = module, .gatherer = "wide_forward", .preprocessor = "size_probe"}};
  watch.known.struct_size = sizeof watch;
  return me->wiring->watch(me->wiring->context, &watch.known, &me->source, error);
}
static loupe_status report(void* self, const loupe_tick* tick, const loupe_sink* sink, loupe_error* error) {
  lens* me = self;
  wide_tag tag = {.known = {.type = LOUPE_SCALE_NUMERICAL, .id = "Wide"}, .newer = {1, 2, 3}};
  const char* const name = "event size";
  wide_row row = {.known = {.tag = "Wide", .layer = "Wide", .value_count = 1, .value_names = &name},
                  .newer = {1, 2, 3}};
  tag.known.struct_size = sizeof tag;
  row.known.struct_size = sizeof row;
  (void)tick;
  wide_series series = {.newer = {1, 2, 3}};
  series.known.struct_size = sizeof series;
  const loupe_status read = me->wiring->read(me->wiring->context, me->source, 0, &series.known, error);
  if (read != LOUPE_OK || series.newer[2] != 3) return LOUPE_FAILED;
  if (series.known.count == 0) return LOUPE_OK; /* nothing happened */
  row.known.values = &series.known.last;
  const loupe_status told = sink->tag(sink->context, &tag.known, error);
  return told == LOUPE_OK ? sink->row(sink->context, &row.known, error) : told;
}

static const wide_lens lens_table = {
    {.struct_size = sizeof(wide_lens), .attach = attach, .visit = visit, .report = report}, NULL};
static const wide_gatherer gatherer_table = {
    {.struct_size = sizeof(wide_gatherer), .open = open_gatherer, .event = take_event}, NULL};
static const wide_option_value three = {
    {.struct_size = sizeof(wide_option_value), .type = LOUPE_TYPE_INTEGER, .integer = 3, .number = 3}, "newer"};
static const wide_option option = {{.struct_size = sizeof(wide_option),
                                    .type = LOUPE_TYPE_INTEGER,
                                    .flags = LOUPE_OPTION_HAS_MINIMUM | LOUPE_OPTION_HAS_MAXIMUM,
                                    .name = "size",
                                    .default_value = &three.known,
                                    .help = "nothing",
                                    .minimum = 0,
                                    .maximum = 9},
                                   "newer"};
static const loupe_option* const options[] = {&option.known};
static const wide_component lens_component = {{.struct_size = sizeof(wide_component),
                                               .interface_id = LOUPE_LENS_ID,
                                               .name = "wide",
                                               .help = "knows more",
                                               .options = options,
                                               .option_count = 1,
                                               .table = &lens_table,
                                               .create = create,
                                               .destroy = destroy},
                                              "newer"};
static const wide_component gatherer_component = {{.struct_size = sizeof(wide_component),
                                                   .interface_id = LOUPE_GATHERER_ID,
                                                   .name = "wide_forward",
                                                   .help = "knows more",
                                                   .table = &gatherer_table,
                                                   .create = create,
                                                   .destroy = destroy},
                                                  "newer"};
static const loupe_component* const components[] = {&lens_component.known, &gatherer_component.known};
static const wide_plugin plugin = {{.struct_size = sizeof(wide_plugin),
                                    .name = "wide",
                                    .version = "1",
                                    .components = components,
                                    .component_count = 2},
                                   "newer"};

static const void* get_extension(const char* id) {
  return strcmp(id, LOUPE_PLUGIN_ID) == 0 ? &plugin : NULL;
}

LOUPE_ELF_NOTE(LOUPE_GATHERER_ID " wide_forward\n" LOUPE_LENS_ID " wide\n");
extern LOUPE_EXPORT const loupe_entry loupe_plugin_entry;
const loupe_entry loupe_plugin_entry = {LOUPE_MAGIC, LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR + 1, get_extension};
