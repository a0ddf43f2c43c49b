/* A plugin like one of an older minor version: its table ends after the members of that version, and optional members
 * are missing. */
#include <loupe/abi.h>
#include <stdlib.h>
#include <string.h>

#define UP_TO(TYPE, MEMBER) (offsetof(TYPE, MEMBER) + sizeof(((TYPE*)0)->MEMBER))

static loupe_status create(const loupe_component* component, const loupe_host* host, const loupe_options* options,
                           void** self, loupe_error* error) {
  (void)component, (void)host, (void)options, (void)error;
  *self = malloc(1);
  return LOUPE_OK;
}
static void destroy(void* self) {
  free(self);
}

static loupe_status attach(void* self, const loupe_wiring* wiring, loupe_error* error) {
  (void)self, (void)wiring, (void)error;
  return LOUPE_OK;
}
static loupe_status visit(void* self, const loupe_module* module, loupe_error* error) {
  (void)self, (void)module, (void)error;
  return LOUPE_OK;
}
static loupe_status report(void* self, const loupe_tick* tick, const loupe_sink* sink, loupe_error* error) {
  const loupe_tag tag = {.struct_size = sizeof tag, .type = LOUPE_SCALE_NUMERICAL, .id = "Narrow"};
  const char* const name = "epoch";
  const loupe_row row = {.struct_size = sizeof row,
                         .tag = "Narrow",
                         .layer = "Narrow",
                         .value_count = 1,
                         .value_names = &name,
                         .values = &tick->at.epoch};
  (void)self;
  const loupe_status told = sink->tag(sink->context, &tag, error);
  return told == LOUPE_OK ? sink->row(sink->context, &row, error) : told;
}

/* The optional functions are missing, for example forget. */
static const loupe_lens lens = {
    .struct_size = UP_TO(loupe_lens, report), .attach = attach, .visit = visit, .report = report};

static const loupe_component component = {.struct_size = sizeof(loupe_component),
                                          .interface_id = LOUPE_LENS_ID,
                                          .name = "narrow",
                                          .help = "knows the least",
                                          .table = &lens,
                                          .create = create,
                                          .destroy = destroy};
static const loupe_component* const components[] = {&component};
static const loupe_plugin plugin = {.struct_size = sizeof(loupe_plugin),
                                    .name = "narrow",
                                    .version = "1",
                                    .components = components,
                                    .component_count = 1};

static const void* get_extension(const char* id) {
  return strcmp(id, LOUPE_PLUGIN_ID) == 0 ? &plugin : NULL;
}

LOUPE_ELF_NOTE(LOUPE_LENS_ID " narrow\n");
extern LOUPE_EXPORT const loupe_entry loupe_plugin_entry;
const loupe_entry loupe_plugin_entry = {LOUPE_MAGIC, 1, 0, get_extension};
