// A lens in C++ that uses only the C headers, built without exceptions and RTTI.
#include <loupe/abi.h>

#include <cstring>

namespace {

char instance;

loupe_status create(const loupe_component*, const loupe_host*, const loupe_options*, void** self, loupe_error*) {
  *self = &instance;
  return LOUPE_OK;
}
void destroy(void*) {}
loupe_status attach(void*, const loupe_wiring*, loupe_error*) {
  return LOUPE_OK;
}
loupe_status visit(void*, const loupe_module*, loupe_error*) {
  return LOUPE_OK;
}
loupe_status report(void*, const loupe_tick*, const loupe_sink* sink, loupe_error* error) {
  if (!LOUPE_OFFERS(*sink, tag) || !LOUPE_OFFERS(*sink, row)) return LOUPE_INVALID;
  loupe_tag tag = {};
  tag.struct_size = sizeof tag;
  tag.id = "Bare";
  tag.flags = LOUPE_TAG_BIG;
  const char* const name = "answer";
  const double value = 42;
  loupe_row row = {};
  row.struct_size = sizeof row;
  row.tag = tag.id;
  row.value_count = 1;
  row.value_names = &name;
  row.values = &value;
  const loupe_status status = sink->tag(sink->context, &tag, error);
  return status == LOUPE_OK ? sink->row(sink->context, &row, error) : status;
}

const loupe_lens table = [] {
  loupe_lens made = {};
  made.struct_size = sizeof made;
  made.attach = attach;
  made.visit = visit;
  made.report = report;
  return made;
}();
const loupe_component component = [] {
  loupe_component made = {};
  made.struct_size = sizeof made;
  made.interface_id = LOUPE_LENS_ID;
  made.name = "bare";
  made.help = "shows a number";
  made.table = &table;
  made.create = create;
  made.destroy = destroy;
  return made;
}();
const loupe_component* const components[] = {&component};
const loupe_plugin plugin = [] {
  loupe_plugin made = {};
  made.struct_size = sizeof made;
  made.name = "bare";
  made.version = "1";
  made.components = components;
  made.component_count = 1;
  return made;
}();

const void* get_extension(const char* id) {
  return std::strcmp(id, LOUPE_PLUGIN_ID) == 0 ? &plugin : nullptr;
}

LOUPE_ELF_NOTE(LOUPE_LENS_ID " bare\n");

}  // namespace

extern "C" LOUPE_EXPORT const loupe_entry loupe_plugin_entry;
const loupe_entry loupe_plugin_entry = {LOUPE_MAGIC, LOUPE_ABI_MAJOR, LOUPE_ABI_MINOR, get_extension};
