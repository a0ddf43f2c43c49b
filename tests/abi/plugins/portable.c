/* A lens that includes only the boundary, to be compiled for systems whose headers are not installed. */
#include <loupe/abi.h>

static loupe_status create(const loupe_component* component, const loupe_host* host, const loupe_options* options,
                           void** self, loupe_error* error) {
  (void)component;
  (void)options;
  if (!LOUPE_OFFERS(*host, log)) return LOUPE_UNSUPPORTED;
  if (error != NULL && error->capacity > 0) error->message[0] = '\0';
  *self = host->context;
  return LOUPE_OK;
}
static void destroy(void* self) {
  (void)self;
}
static loupe_status visit(void* self, const loupe_module* module, loupe_error* error) {
  (void)self;
  (void)module;
  (void)error;
  return LOUPE_OK;
}
static loupe_status report(void* self, const loupe_tick* tick, const loupe_sink* sink, loupe_error* error) {
  (void)self;
  const char* const name = "number";
  const double value = (double)tick->steps;
  const loupe_row row = {.struct_size = sizeof row,
                         .tag = "Number",
                         .value_count = 1,
                         .value_names = &name,
                         .values = &value,
                         .step = tick->at.step};
  return sink->row(sink->context, &row, error);
}

static const loupe_lens lens = {.struct_size = sizeof(loupe_lens), .visit = visit, .report = report};
static const loupe_component component = {.struct_size = sizeof(loupe_component),
                                          .interface_id = LOUPE_LENS_ID,
                                          .name = "portable",
                                          .help = "counts steps",
                                          .table = &lens,
                                          .create = create,
                                          .destroy = destroy};
static const loupe_component* const components[] = {&component};
static const loupe_plugin plugin = {
    .struct_size = sizeof plugin, .name = "portable", .version = "1.0", .components = components, .component_count = 1};

static const void* get_extension(const char* id) {
  for (const char* own = LOUPE_PLUGIN_ID; *own == *id; ++own, ++id) {
    if (*own == '\0') return &plugin;
  }
  return NULL;
}

LOUPE_ELF_NOTE(LOUPE_LENS_ID " portable\n");
extern LOUPE_EXPORT const loupe_entry loupe_plugin_entry;
const loupe_entry loupe_plugin_entry = {LOUPE_MAGIC, LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR, &get_extension};
