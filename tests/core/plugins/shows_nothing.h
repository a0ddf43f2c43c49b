/* What a visualizer that shows nothing answers. */
#include <loupe/abi.h>

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
