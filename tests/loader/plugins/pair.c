/* A plugin with two visualizers: `shared`, and SECOND, which has the alias ALIAS if that is defined. Unless SILENT is
 * defined, its file has a note that lists them. */
#include <loupe/abi.h>
#include <string.h>

static loupe_status create(const loupe_component* component, const loupe_host* host, const loupe_options* options,
                           void** self, loupe_error* error) {
  static char instance;
  (void)component, (void)host, (void)options, (void)error;
  *self = &instance;
  return LOUPE_OK;
}
static void destroy(void* self) {
  (void)self;
}
static loupe_status begin_tick(void* self, const loupe_tick* tick, loupe_error* error) {
  (void)self, (void)tick, (void)error;
  return LOUPE_OK;
}
static loupe_status row(void* self, const loupe_row* row, loupe_error* error) {
  (void)self, (void)row, (void)error;
  return LOUPE_OK;
}
static const loupe_visualizer table = {.struct_size = sizeof(loupe_visualizer), .begin_tick = begin_tick, .row = row};

#ifdef ALIAS
static const char* const aliases[] = {ALIAS};
#define ALIASES .aliases = aliases, .alias_count = 1,
#define ENDING " +\n"
#else
#define ALIASES
#define ENDING "\n"
#endif
static const loupe_component shared = {.struct_size = sizeof(loupe_component),
                                       .interface_id = LOUPE_VISUALIZER_ID,
                                       .name = "shared",
                                       .help = "shows nothing",
                                       .table = &table,
                                       .create = create,
                                       .destroy = destroy};
static const loupe_component second = {.struct_size = sizeof(loupe_component),
                                       .interface_id = LOUPE_VISUALIZER_ID,
                                       .name = SECOND,
                                       ALIASES.help = "shows nothing",
                                       .table = &table,
                                       .create = create,
                                       .destroy = destroy};
static const loupe_component* const components[] = {&shared, &second};
static const loupe_plugin plugin = {.struct_size = sizeof(loupe_plugin),
                                    .name = SECOND,
                                    .version = "1",
                                    .components = components,
                                    .component_count = 2};

static const void* get_extension(const char* id) {
  return strcmp(id, LOUPE_PLUGIN_ID) == 0 ? &plugin : NULL;
}

#ifndef SILENT
LOUPE_ELF_NOTE(LOUPE_VISUALIZER_ID " shared\n" LOUPE_VISUALIZER_ID " " SECOND ENDING);
#endif
extern LOUPE_EXPORT const loupe_entry loupe_plugin_entry;
const loupe_entry loupe_plugin_entry = {LOUPE_MAGIC, LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR, get_extension};
