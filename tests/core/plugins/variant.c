/* A plugin in plain C with two visualizers, NAME and NAME_beside. CMake builds it many times. Macros make one property
 * of the first visualizer wrong or unusual in each build. */
#include <loupe/abi.h>
#include <string.h>

#ifndef MAGIC
#define MAGIC LOUPE_MAGIC
#endif
#ifndef MAJOR
#define MAJOR LOUPE_ABI_MAJOR
#endif
#ifndef MINOR
#define MINOR LOUPE_ABI_MINOR
#endif
#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(loupe_plugin)
#endif
#ifndef COMPONENT_SIZE
#define COMPONENT_SIZE sizeof(loupe_component)
#endif
#ifndef TABLE_SIZE
#define TABLE_SIZE sizeof(loupe_visualizer)
#endif
#ifndef TABLE
#define TABLE &table
#endif
#ifndef ROW
#define ROW row
#endif
#ifndef INTERFACE
#define INTERFACE LOUPE_VISUALIZER_ID
#endif
#ifndef DEFAULT
#define DEFAULT 0.5
#endif
#ifndef DEFAULT_TYPE
#define DEFAULT_TYPE LOUPE_TYPE_NUMBER
#endif
#ifndef OPTION_TYPE
#define OPTION_TYPE LOUPE_TYPE_NUMBER
#endif
#ifndef OFFERED
#define OFFERED LOUPE_PLUGIN_ID
#endif
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

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

static const loupe_option_value default_value = {
    .struct_size = sizeof(loupe_option_value), .type = DEFAULT_TYPE, .number = DEFAULT};
static const loupe_option option = {.struct_size = sizeof(loupe_option),
                                    .type = OPTION_TYPE,
                                    .flags = LOUPE_OPTION_HAS_MINIMUM | LOUPE_OPTION_HAS_MAXIMUM,
                                    .name = "ratio",
                                    .default_value = &default_value,
                                    .help = "a share",
                                    .minimum = 0,
                                    .maximum = 1};
static const loupe_option* const options[] = {&option};

static const loupe_visualizer table = {.struct_size = TABLE_SIZE, .begin_tick = begin_tick, .row = ROW};
static const loupe_visualizer whole_table = {
    .struct_size = sizeof(loupe_visualizer), .begin_tick = begin_tick, .row = row};

static const loupe_component component = {.struct_size = COMPONENT_SIZE,
                                          .interface_id = INTERFACE,
                                          .name = TEXT(NAME),
                                          .help = "has a fault on purpose",
                                          .options = options,
                                          .option_count = 1,
                                          .table = TABLE,
                                          .create = create,
                                          .destroy = destroy};
static const loupe_component beside = {.struct_size = sizeof(loupe_component),
                                       .interface_id = LOUPE_VISUALIZER_ID,
                                       .name = TEXT(NAME) "_beside",
                                       .help = "has no fault",
                                       .table = &whole_table,
                                       .create = create,
                                       .destroy = destroy};
static const loupe_component* const components[] = {&component, &beside};
static const loupe_plugin plugin = {
    .struct_size = PLUGIN_SIZE, .name = TEXT(NAME), .version = "1", .components = components, .component_count = 2};

static const void* get_extension(const char* id) {
  return strcmp(id, OFFERED) == 0 ? &plugin : NULL;
}

extern LOUPE_EXPORT const loupe_entry ENTRY;
const loupe_entry ENTRY = {MAGIC, MAJOR, MINOR, get_extension};
