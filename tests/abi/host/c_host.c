/* A minimal host in plain C: it runs a lens of a plugin over one layer and two events, and prints what
 * the lens reports. It offers neither services nor components: the lens, or its plugin, must bring gatherers and
 * preprocessors, except for a gatherer that passes every output on. c_host PLUGIN.so LENS */
#include <dlfcn.h>
#include <loupe/abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

static char message[200];
static loupe_error error = {.struct_size = sizeof error, .capacity = sizeof message, .message = message};

static void must(loupe_status status, const char* what) {
  if (status == LOUPE_OK) return;
  fprintf(stderr, "%s: status %d: %s\n", what, (int)status, message);
  exit(1);
}

static void log_line(void* context, int32_t level, const char* text) {
  printf("log %d: %s\n", (int)level, text);
}
static const void* nothing(void* context, const char* id) {
  return NULL;
}

static const loupe_plugin* plugin;
static const loupe_component* component_of(const char* kind, const char* name) {
  for (size_t i = 0; name != NULL && i < plugin->component_count; ++i) {
    const loupe_component* each = plugin->components[i];
    if (strcmp(each->interface_id, kind) == 0 && strcmp(each->name, name) == 0) return each;
  }
  return NULL;
}

/* A component gets every option that it declares, here with its default. */
static const loupe_option_value* default_of(const loupe_option* option) {
  static loupe_option_value values[256];
  static size_t count;
  must(count < sizeof values / sizeof *values ? LOUPE_OK : LOUPE_FAILED, "the values of options");
  loupe_option_value* value = &values[count++];
  if (option->default_value != NULL) *value = *option->default_value;
  value->struct_size = sizeof *value;
  value->type = option->type;
  value->name = option->name;
  return value;
}
static struct {
  const loupe_component* component;
  void* self;
} instances[16];
static size_t instance_count;
static void* instance_of(const loupe_component* component) {
  static const loupe_host host = {
      .struct_size = sizeof host, .version = "C", .plugin_path = "", .log = log_line, .get_extension = nothing};
  const loupe_option_value* given[64];
  const loupe_options options = {sizeof options, 0, given, component->option_count};
  void* self = NULL;
  for (size_t i = 0; i < component->option_count; ++i) given[i] = default_of(component->options[i]);
  must(component->create(component, &host, &options, &self, &error), "create");
  instances[instance_count].component = component;
  instances[instance_count++].self = self;
  return self;
}

/* A preprocessor of the lens, or of its plugin, and the plugin's gatherer before it, if it has one. */
struct loupe_source {
  const loupe_preprocessor* table;
  void* self;
  loupe_request request;
  uint32_t rests; /* LOUPE_REST_ bits */
  const loupe_gatherer* gatherer;
  void* gatherer_self;
  loupe_taps taps;
};
static struct loupe_source sources[8];
static size_t source_count;

static loupe_status subscribe(void* context, const loupe_subscription* wanted, loupe_error* e) {
  return wanted->tap == LOUPE_TAP_FORWARD ? LOUPE_OK : LOUPE_UNSUPPORTED;
}
static loupe_status emit(void* context, const loupe_event* event, loupe_error* e) {
  const struct loupe_source* source = context;
  return source->table->process(source->self, event, e);
}
static loupe_status gather(const struct loupe_source* source, const loupe_event* event, loupe_error* e) {
  if (source->gatherer == NULL || !LOUPE_OFFERS(*source->gatherer, event)) return emit((void*)source, event, e);
  return source->gatherer->event(source->gatherer_self, event, e);
}

static loupe_status watch(void* context, const loupe_watch* watch, loupe_source** source, loupe_error* e) {
  struct loupe_source* made = &sources[source_count];
  const loupe_component* preprocessor = component_of(LOUPE_PREPROCESSOR_ID, watch->preprocessor);
  const loupe_component* gatherer = component_of(LOUPE_GATHERER_ID, watch->gatherer);
  if ((watch->own_interface == NULL && preprocessor == NULL) || source_count == 8) return LOUPE_UNSUPPORTED;
  ++source_count;
  *made = (struct loupe_source){.table = watch->own_interface,
                                .self = watch->own_preprocessor,
                                .request = {.struct_size = sizeof made->request},
                                .taps = {sizeof made->taps, 0, made, subscribe, emit, nothing}};
  if (made->table == NULL) {
    made->table = preprocessor->table;
    made->self = instance_of(preprocessor);
  }
  if (gatherer != NULL) {
    made->gatherer = gatherer->table;
    made->gatherer_self = instance_of(gatherer);
    must(made->gatherer->open(made->gatherer_self, &made->taps, watch->module, watch->label, e), "open");
  }
  *source = made;
  return made->table->request(made->self, &made->request, e);
}
static size_t series_count(void* context, loupe_source* of) {
  return of->table->series_count(of->self);
}
static loupe_status read_series(void* context, loupe_source* of, size_t index, loupe_series* row, loupe_error* e) {
  return of->table->read(of->self, index, row, e);
}
static loupe_status find(void* context, loupe_source* of, const char* name, size_t* index, loupe_error* e) {
  loupe_series row = {.struct_size = sizeof row};
  for (*index = 0; *index < of->table->series_count(of->self); ++*index) {
    if (of->table->read(of->self, *index, &row, e) == LOUPE_OK && strcmp(row.name, name) == 0) return LOUPE_OK;
  }
  return LOUPE_NOT_FOUND;
}
static loupe_status quantiles(void* context, loupe_source* of, size_t index, const double* q, size_t q_count,
                              double* to, loupe_error* e) {
  return LOUPE_OFFERS(*of->table, quantiles) ? of->table->quantiles(of->self, index, q, q_count, to, e)
                                             : LOUPE_UNSUPPORTED;
}
static loupe_status values(void* context, loupe_source* of, size_t index, double* to, size_t capacity, size_t* count,
                           loupe_error* e) {
  return LOUPE_OFFERS(*of->table, values) ? of->table->values(of->self, index, to, capacity, count, e)
                                          : LOUPE_UNSUPPORTED;
}
static loupe_status rest(void* context, loupe_source* of, uint32_t what, loupe_error* e) {
  of->rests = what;
  return LOUPE_OK;
}

static loupe_status tag(void* context, const loupe_tag* tag, loupe_error* e) {
  return LOUPE_OK;
}
static loupe_status row(void* context, const loupe_row* row, loupe_error* e) {
  const char* const layer = row->layer != NULL ? row->layer : "-";
  for (size_t i = 0; i < row->value_count; ++i)
    printf("%s, %s, %s: %g\n", row->tag, layer, row->value_names[i], row->values[i]);
  return LOUPE_OK;
}
static loupe_status histogram(void* context, const loupe_histogram* histogram, loupe_error* e) {
  return LOUPE_OK;
}
static loupe_status finding(void* context, const loupe_finding* finding, loupe_error* e) {
  printf("%s: %s\n", finding->rule, finding->message);
  return LOUPE_OK;
}

static const loupe_component* open_lens(const char* path, const char* name) {
  void* library = dlopen(path, RTLD_NOW);
  const loupe_entry* entry = library != NULL ? dlsym(library, LOUPE_ENTRY_SYMBOL) : NULL;
  const int is_plugin = entry != NULL && entry->magic == LOUPE_MAGIC && entry->abi_major == LOUPE_ABI_MAJOR;
  plugin = is_plugin ? entry->get_extension(LOUPE_PLUGIN_ID) : NULL;
  const loupe_component* found = plugin != NULL ? component_of(LOUPE_LENS_ID, name) : NULL;
  if (found != NULL) return found;
  fprintf(stderr, "no lens '%s' in %s: %s\n", name, path, library != NULL ? "it has none" : dlerror());
  exit(1);
}

int main(int argc, char** argv) {
  const loupe_wiring wiring = {sizeof wiring, 0,         NULL,   watch, series_count, find,
                               read_series,   quantiles, values, rest,  nothing};
  const loupe_sink sink = {sizeof sink, 0, NULL, tag, row, histogram, finding, nothing};
  const loupe_module relu = {.struct_size = sizeof relu,
                             .flags = LOUPE_MODULE_LEAF,
                             .family = LOUPE_FAMILY_ACTIVATION,
                             .name = "relu",
                             .path = "relu",
                             .type = "ReLU",
                             .full_type = "torch::nn::ReLUImpl"};
  /* The event has two samples and four units, two of which are silent. */
  loupe_measurement measured = {.struct_size = sizeof measured,
                                .numel = 8,
                                .sum = 12,
                                .sum_squares = 36,
                                .active_count = 4,
                                .unit_count = 4,
                                .dead_unit_count = 2};
  loupe_event event = {.struct_size = sizeof event,
                       .tap = LOUPE_TAP_FORWARD,
                       .flags = LOUPE_EVENT_TRAINING | LOUPE_EVENT_GRAD_ENABLED | LOUPE_EVENT_DEFERRED,
                       .module = &relu,
                       .measurement = &measured};
  const loupe_tick tick = {.struct_size = sizeof tick, .reason = LOUPE_TICK_EPOCH};
  const loupe_component* component = open_lens(argv[1], argc > 2 ? argv[2] : "");
  const loupe_lens* lens = component->table;
  void* self = instance_of(component);

  must(lens->attach(self, &wiring, &error), "attach");
  must(lens->visit(self, &relu, &error), "visit");
  for (; event.number < 2; ++event.number) {
    for (struct loupe_source* each = sources; each < sources + source_count; ++each) {
      if ((each->rests & LOUPE_REST_EVENTS) != 0) continue;
      measured.measures = each->request.measures & (LOUPE_MEASURE_SUMS | LOUPE_MEASURE_ACTIVITY);
      must(gather(each, &event, &error), "event");
    }
  }
  must(lens->report(self, &tick, &sink, &error), "report");
  if (LOUPE_OFFERS(*lens, forget)) lens->forget(self, &relu);
  for (size_t i = 0; i < instance_count; ++i) instances[i].component->destroy(instances[i].self);
  return 0;
}
